// FindKnee() finds the knee of a measured curve: the load from which on more
// rate costs more in latency than it brings, as the open-loop point of the
// highest power, its successes per second over its mean latency. Source: L.
// Kleinrock, Power and deterministic rules of thumb for probabilistic problems
// in computer communications, ICC 1979; R. Jain, The Art of Computer Systems
// Performance Analysis, section 3.3, calls that point the knee.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_KNEE_H_
#define FERRY_BENCH_REPORT_KNEE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "bench/report/run_result.h"

namespace ferry::bench {

inline constexpr size_t kLeastKneePoints = 4;  // of different rates

struct Knee {
  double rate = 0;  // successes/s
  double mean_us = 0;
  double p99_us = 0;
  double power = 0;  // rate over mean latency, 1/s^2
  // It is the lowest or highest rate that was measured, carried or not:
  // the curve may have its knee beyond.
  bool is_lowest = false;
  bool is_highest = false;
};

// Returns the knee of the run's open-loop points that are carried (Carries());
// nothing where they are of too few rates, or of several
// arrivals, nor of a search, whose confirmations crowd at its bound.
std::optional<Knee> FindKnee(const RunResult& run);

// Returns "knee at 800/s: p99 12.1 ms, ...".
std::string Describe(const Knee& knee);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_KNEE_H_
