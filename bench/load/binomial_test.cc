// Implements TestShare(): sums terms, each from the one before, on the side of
// k that has fewer.
#include "bench/load/binomial_test.h"

#include <cmath>

#include "base/check.h"

namespace ferry::bench {
namespace {

constexpr double kNoMore = 1e-18;  // of the sum: what follows does not count

double LogTerm(double k, double n, double p) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
         k * std::log(p) + (n - k) * std::log1p(-p);
}

// P(X <= k), of terms that fall from k on down.
double LowerTail(uint64_t k, uint64_t n, double p) {
  double term =
      std::exp(LogTerm(static_cast<double>(k), static_cast<double>(n), p));
  double sum = term;
  for (uint64_t i = k; i > 0 && term > sum * kNoMore; --i) {
    term *=
        static_cast<double>(i) / static_cast<double>(n - i + 1) * (1 - p) / p;
    sum += term;
  }
  return sum;
}

}  // namespace

double BinomialCdf(uint64_t k, uint64_t n, double p) {
  Check(p > 0 && p < 1 && k <= n, "a binomial of some trials");
  if (k == n) {
    return 1;
  }
  const bool is_low = static_cast<double>(k) < static_cast<double>(n) * p;
  // X <= k is n - X >= n - k: the upper tail is the lower one of the failures.
  return is_low ? LowerTail(k, n, p) : 1 - LowerTail(n - k - 1, n, 1 - p);
}

ShareVerdict TestShare(uint64_t over, uint64_t n, double allowed,
                       double confidence) {
  if (n == 0) {
    return ShareVerdict::kUndecided;
  }
  const double unlikely = 1 - confidence;
  if (BinomialCdf(over, n, allowed) <= unlikely) {
    return ShareVerdict::kMet;
  }
  const double at_least_over =
      over == 0 ? 1 : 1 - BinomialCdf(over - 1, n, allowed);
  return at_least_over <= unlikely ? ShareVerdict::kMissed
                                   : ShareVerdict::kUndecided;
}

}  // namespace ferry::bench
