// Implements Student's t: a continued fraction, and a bisection of it.
#include "bench/compare/student_t.h"

#include <algorithm>
#include <cmath>

namespace ferry::bench {
namespace {

constexpr int kMostTerms = 1000;
constexpr double kPrecise = 1e-14;
constexpr double kTiny = 1e-300;      // in place of a zero denominator
constexpr double kMostDegrees = 1e5;  // from there on it is a normal

double NotZero(double value) { return std::abs(value) < kTiny ? kTiny : value; }

// The continued fraction of the incomplete beta function by the modified
// method of Lentz (W. J. Lentz, Applied Optics 15, 1976). It converges fast for
// x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  double c = 1;
  double d = 1 / NotZero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 / NotZero(1 + term * d);
      c = NotZero(1 + term / c);
      factor = c * d;
      fraction *= factor;
    }
    if (std::abs(factor - 1) < kPrecise) {
      break;
    }
  }
  return fraction;
}

// I_x(a, b), 0 <= x <= 1.
double RegularizedBeta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
               a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * BetaFraction(a, b, x) / a
                                   : 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double StudentTwoSided(double t, double degrees) {
  const double of = std::min(degrees, kMostDegrees);
  return RegularizedBeta(of / 2, 0.5, of / (of + t * t));
}

double StudentQuantile(double chance, double degrees) {
  double low = 0;
  double high = 1;
  while (StudentTwoSided(high, degrees) > chance && high < 1e15) {
    high *= 2;
  }
  for (int step = 0; step < 100 && high - low > kPrecise * high; ++step) {
    const double middle = (low + high) / 2;
    (StudentTwoSided(middle, degrees) > chance ? low : high) = middle;
  }
  return high;
}

}  // namespace ferry::bench
