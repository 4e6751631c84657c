// Implements RandomStream; each algorithm names its source.
#include "bench/arrivals/random_stream.h"

#include <cmath>

#include "base/check.h"

namespace ferry::bench {

double RandomStream::Uniform() {
  return static_cast<double>((random_() >> 11) + 1) * 0x1p-53;
}

// Inversion.
double RandomStream::Exponential() { return -std::log(Uniform()); }

// The polar method: Marsaglia and Bray, "A Convenient Method for Generating
// Normal Variables", SIAM Review 6 (1964). One of its two results is used.
double RandomStream::Normal() {
  while (true) {
    const double x = 2 * Uniform() - 1;
    const double y = 2 * Uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) {
      return x * std::sqrt(-2 * std::log(square) / square);
    }
  }
}

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM
// Transactions on Mathematical Software 26 (2000), without its squeeze. Below
// a shape of 1, as in its section 6: Gamma(a) = Gamma(a + 1) * U^(1/a).
double RandomStream::Gamma(double shape) {
  Check(shape > 0, "a shape is positive");
  if (shape < 1) {
    const double larger = Gamma(shape + 1);
    return larger * std::pow(Uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal();
    const double root = 1 + c * x;
    const double v = root * root * root;
    if (v > 0 &&
        std::log(Uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

// Inversion: more than n trials have the probability (1 - 1 / mean)^n.
int64_t RandomStream::Geometric(double mean) {
  Check(mean >= 1 && mean <= 1e15, "trials are one or more, and not endless");
  const double failed = std::log(Uniform()) / std::log1p(-1 / mean);
  return 1 + static_cast<int64_t>(failed);
}

}  // namespace ferry::bench
