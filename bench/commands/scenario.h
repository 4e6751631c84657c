// Scenario names a load of MLPerf Inference. Source:
// mlcommons/inference_policies, inference_rules.adoc, "Scenarios". A query of
// the first three is one request, its samples are rows.
//
//   single-stream    the next query of 1 row when the last one is answered
//   multi-stream:N   the same with N rows a query; MLPerf's N is 8
//   server:RATE      Poisson arrivals of queries of 1 row
//   offline:SAMPLES  one query of SAMPLES rows, in requests of many rows, timed
//                    until its last answer; MLPerf takes 24,576 at least
//
// Thread safety: plain values.
#ifndef FERRY_BENCH_COMMANDS_SCENARIO_H_
#define FERRY_BENCH_COMMANDS_SCENARIO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/search/sweep.h"

namespace ferry::bench {

// A query as it was asked for; 0: as the model says, see PlanOffline().
struct OfflineScenario {
  uint64_t samples = 0;     // rows in all; 0: no such scenario
  int32_t rows = 0;         // of each request
  int32_t outstanding = 0;  // requests at a time
};

struct Scenario {
  int32_t rows = 1;         // of each request
  int32_t outstanding = 0;  // of a closed loop; 0: an open loop or a query
  double rate = 0;          // of an open loop, requests/s, Poisson
  OfflineScenario offline = {};
};

// What ParseScenario() takes.
inline constexpr char kScenarioForms[] =
    "single-stream, multi-stream:N, server:RATE or "
    "offline:SAMPLES[,ROWS[,OUTSTANDING]]";

// N and ROWS are 1 to 2^20 rows, RATE 0.001 to 1e9 requests/s, SAMPLES 1 to
// 1e12 rows, OUTSTANDING 1 to 65536 requests. Errors: INVALID_ARGUMENT, with
// what was expected and what was found.
absl::StatusOr<Scenario> ParseScenario(const std::string& text);

// Returns the query for a model of that max_batch_size; where that is 0, a
// request is one row. Left out, a request has max_batch_size rows, and four
// full batches an instance are outstanding: one that is computed, and others so
// that the next is there whatever wire and client take. Memory is bounded by
// that. The last request is as full as the others, as MLPerf's count is a least
// one. REQUIRES: scenario.samples >= 1.
OfflineQuery PlanOffline(const OfflineScenario& scenario,
                         int32_t max_batch_size, int32_t instances);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SCENARIO_H_
