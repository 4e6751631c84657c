// Estimate says how far two sides are apart, and how sure that is.
//
//   paired    the k-th value of A and of B were measured next to each other, so
//             what slows the machine for a while slows both: Student's t of the
//             differences. W. S. Gosset, Biometrika 6, 1908.
//   unpaired  repeats of each: Welch's t, which lets the sides vary by
//             different amounts, with the degrees of Satterthwaite. B. L.
//             Welch, Biometrika 34, 1947. Where one side was measured once,
//             what the other varies by stands for both.
//   slices    one run each: Welch's t of the errors that batch means give.
//
// Values of ratios are logarithms: a ratio r and 1 / r are then equally far
// from none, and speeds vary by shares of themselves.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMPARE_ESTIMATE_H_
#define FERRY_BENCH_COMPARE_ESTIMATE_H_

#include <optional>
#include <vector>

namespace ferry::bench {

inline constexpr double kChance = 0.05;  // that is left to it: 95 % intervals

// What one side says: its center, the standard error of that and the degrees
// of freedom of the error.
struct Center {
  double value = 0;
  double error = 0;
  double degrees = 0;
};

struct Estimate {
  double difference = 0;  // B minus A
  double low = 0;         // 95 %
  double high = 0;
  double p_value = 1;  // that A and B of no difference lie so far apart
  double error = 0;    // standard error of the difference
  double degrees = 1;  // of freedom, of the error
};

// Nothing where there are fewer than two pairs. REQUIRES: as many of each.
std::optional<Estimate> EstimatePaired(const std::vector<double>& a,
                                       const std::vector<double>& b);

// Nothing where there is no value of a side, or too few to see how they vary:
// two of each, or one and three.
std::optional<Estimate> EstimateUnpaired(const std::vector<double>& a,
                                         const std::vector<double>& b);

Estimate EstimateOf(const Center& a, const Center& b);

// Returns `estimate` with another standard error. Nothing where that is 0 and A
// and B differ all the same: what never varied does not say how it does.
std::optional<Estimate> WithError(const Estimate& estimate, double error);

// Returns which of the tests stand together at `chance` by S. Holm (1979),
// Scandinavian Journal of Statistics 6: the chance that any is wrong is
// `chance` at most, however many there are.
std::vector<bool> Holm(const std::vector<double>& p_values, double chance);

// Returns how many times the variance of the mean exceeds what independent
// values would have: (1 + r) / (1 - r), r the correlation of each with the
// next, from 0 to 0.9. Source: Law, chapter 4 (mean of a correlated sequence),
// for correlations that fall geometrically; r is corrected for its bias by M.
// G. Kendall, Biometrika 41, 1954.
double VarianceInflation(const std::vector<double>& values);

// Returns the degrees of freedom of the variance of so many values whose
// mean's is inflated so: those of n (1 - r^2) / (1 + r^2) independent ones, 1
// at least. Source: G. V. Bayley and J. M. Hammersley, Supplement to the
// Journal of the Royal Statistical Society 8, 1946.
double InflatedDegrees(double count, double inflation);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_ESTIMATE_H_
