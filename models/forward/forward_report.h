// Summary, ToJson and PrintTable report what ferry-forward measured.
//
// Thread safety: plain values; free functions.
#ifndef FERRY_MODELS_FORWARD_FORWARD_REPORT_H_
#define FERRY_MODELS_FORWARD_FORWARD_REPORT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "models/config/model_options.h"
#include "nlohmann/json.hpp"

namespace ferry {

// Milliseconds of each run.
struct RunTimes {
  std::vector<double> stage = {}, compute = {}, total = {};
  std::vector<double> idle = {};  // before its compute; empty: not known
};

struct Measurement {
  int32_t rows = 0;
  int64_t runs = 0;
  double stage_ms = 0;  // medians
  double compute_ms = 0;
  double total_ms = 0;
  std::optional<double> idle_ms = {};
  // A device's share of the time from the first compute to the last in which it
  // computed.
  std::optional<double> busy_ratio = {};
  double p99_ms = 0;             // of the total
  std::vector<double> times_ms;  // total, of each run
};

// REQUIRES: at least one run.
Measurement Summary(int32_t rows, const RunTimes& times);

nlohmann::ordered_json ToJson(const ModelOptions& options,
                              const std::vector<Measurement>& all);

// To standard output.
void PrintTable(const ModelOptions& options,
                const std::vector<Measurement>& all);

}  // namespace ferry

#endif  // FERRY_MODELS_FORWARD_FORWARD_REPORT_H_
