// Condition says when a command is to fail: `--fail-if 'p99>20ms'`, for CI.
//
//   mean, p50 to p99.9, max           latency from the planned send: us, ms, s;
//                                     of all requests, as OverallPercentileUs()
//                                     has them: a failure is infinitely late
//   errors                            share of requests that failed: %
//   rate                              successes/s
//   goodput                           successes/s within RunResult::slo_ms, so
//                                     that it takes --slo-ms
//   busy                              of the device's time: %
//
// Thread safety: functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_REPORT_FAIL_IF_H_
#define FERRY_BENCH_REPORT_FAIL_IF_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

struct Condition {
  std::string text;      // as typed
  std::string metric;    // "p99"
  bool is_above = true;  // '>', else '<'
  double bound = 0;      // us, requests/s, or a share
};

absl::StatusOr<Condition> ParseCondition(const std::string& text);

// Whether it is of the goodput, which is of a bound.
bool TakesSlo(const Condition& condition);

// Returns a sentence for each point at which a condition holds. A point that is
// void, was cut short or has no such metric cannot be judged, nor can a
// percentile of fewer requests than SamplesFor() it: so it is one of them.
std::vector<std::string> Failures(const std::vector<Condition>& conditions,
                                  const RunResult& run);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_FAIL_IF_H_
