// Scenario: the loads of MLPerf Inference by their names, as far as the two
// loops can be them. Source: mlcommons/inference_policies,
// inference_rules.adoc, "Scenarios". A query is one request, its samples are
// rows.
//
//   single-stream   the next query of 1 row when the last one is answered
//   multi-stream:N  the same with N rows a query; MLPerf's N is 8
//   server:RATE     Poisson arrivals of queries of 1 row
//
// Not offline, which is one query of everything: neither loop ends with the
// last answer, and that time is what offline measures.
//
// Thread safety: plain values.
#ifndef FERRY_BENCH_COMMANDS_SCENARIO_H_
#define FERRY_BENCH_COMMANDS_SCENARIO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace ferry::bench {

struct Scenario {
  int32_t rows = 1;         // of each request
  int32_t outstanding = 0;  // of a closed loop; 0: an open loop
  double rate = 0;          // of an open loop, requests/s, Poisson
};

// What ParseScenario() takes.
inline constexpr char kScenarioForms[] =
    "single-stream, multi-stream:N or server:RATE";

// N is 1 to 2^20 rows, RATE 0.001 to 1e9 requests/s. Errors: INVALID_ARGUMENT,
// with what was expected and what was found.
absl::StatusOr<Scenario> ParseScenario(const std::string& text);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SCENARIO_H_
