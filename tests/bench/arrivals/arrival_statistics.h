// Mean() and its like measure arrivals in tests: gaps, and how counts vary.
//
// Thread safety: free functions over values.
#ifndef FERRY_TESTS_BENCH_ARRIVALS_ARRIVAL_STATISTICS_H_
#define FERRY_TESTS_BENCH_ARRIVALS_ARRIVAL_STATISTICS_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/arrivals/arrival_process.h"

namespace ferry::bench {

inline std::vector<int64_t> DrawGapsNs(ArrivalProcess& arrivals, int count) {
  std::vector<int64_t> gaps_ns;
  gaps_ns.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    gaps_ns.push_back(arrivals.NextGap().count());
  }
  return gaps_ns;
}

inline double Mean(const std::vector<int64_t>& values) {
  double sum = 0;
  for (const int64_t value : values) {
    sum += static_cast<double>(value);
  }
  return sum / static_cast<double>(values.size());
}

inline double Variance(const std::vector<int64_t>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const int64_t value : values) {
    sum += std::pow(static_cast<double>(value) - mean, 2);
  }
  return sum / static_cast<double>(values.size() - 1);
}

// Variance / mean^2.
inline double SquaredCv(const std::vector<int64_t>& values) {
  return Variance(values) / std::pow(Mean(values), 2);
}

// Variance / mean of the numbers of arrivals in windows that lie side by side.
inline double IndexOfDispersion(const std::vector<int64_t>& gaps_ns,
                                Duration window) {
  std::vector<int64_t> counts;
  int64_t left_ns = window.count();
  int64_t count = 0;
  for (int64_t gap_ns : gaps_ns) {
    while (gap_ns >= left_ns) {
      gap_ns -= left_ns;
      left_ns = window.count();
      counts.push_back(count);
      count = 0;
    }
    left_ns -= gap_ns;
    ++count;
  }
  return Variance(counts) / Mean(counts);
}

}  // namespace ferry::bench

#endif  // FERRY_TESTS_BENCH_ARRIVALS_ARRIVAL_STATISTICS_H_
