// Implements VirtualSummary: counts records, and writes them as JSON.
#include "bench/virtual/virtual_summary.h"

#include <nlohmann/json.hpp>

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Ms(double ns) { return ns / 1e6; }

Json LatencyJson(const LatencyHistogram& latency) {
  if (latency.count() == 0) {
    return nullptr;
  }
  const auto at = [&](double quantile) {
    return Ms(static_cast<double>(latency.Quantile(quantile)));
  };
  return {{"mean", Ms(static_cast<double>(latency.sum()) /
                      static_cast<double>(latency.count()))},
          {"p50", at(0.5)},
          {"p99", at(0.99)},
          {"p99.9", at(0.999)},
          {"max", at(1)}};
}

}  // namespace

VirtualSummary::VirtualSummary(const VirtualRunOptions& options)
    : options_(options), by_class_(options.classes.size()) {}

void VirtualSummary::Add(const VirtualRecord& record) {
  const auto index = static_cast<size_t>(record.class_index);
  Counts& counts = by_class_[index];
  ++counts.sent;
  if (record.was_refused) {
    ++counts.refused;
  } else if (record.code != absl::StatusCode::kOk) {
    ++counts.failed;
  } else {
    const VirtualClass& its_class = options_.classes[index];
    const Duration latency = record.end - record.arrival;
    RecordLatency(counts.latency, latency);
    RecordLatency(latency_, latency);
    if (its_class.timeout > Duration(0) && latency > its_class.timeout) {
      ++counts.late;
    } else if (record.end <= VirtualClock::kStart + options_.duration) {
      counts.good_rows += its_class.rows;
    }
  }
}

std::string VirtualSummary::ToJson(const VirtualRunResult& result) const {
  const double seconds = Seconds(options_.duration);
  const int32_t max_rows = options_.scheduler.max_batch_size;
  const double saturation =
      options_.instances() * max_rows / Seconds(options_.ServiceTime(max_rows));
  Json classes = Json::array();
  double goodput = 0;
  for (size_t i = 0; i < by_class_.size(); ++i) {
    const Counts& counts = by_class_[i];
    const double rows_per_s = static_cast<double>(counts.good_rows) / seconds;
    goodput += rows_per_s;
    classes.push_back({{"name", options_.classes[i].name},
                       {"sent", counts.sent},
                       {"refused", counts.refused},
                       {"failed", counts.failed},
                       {"late", counts.late},
                       {"ok", counts.latency.count()},
                       {"goodput", rows_per_s},
                       {"latency_ms", LatencyJson(counts.latency)}});
  }
  Json reasons = Json::object();
  for (size_t i = 0; i < kCloseReasonCount; ++i) {
    reasons[CloseReasonName(static_cast<CloseReason>(i))] =
        result.counted.served.closed_batches[i].value();
  }
  const Json json = {
      {"format", "ferry-bench-simulate/1"},
      {"simulated", true},
      {"policy", PolicyName(options_.scheduler.policy)},
      {"duration_s", seconds},
      {"saturation_rows_per_s", saturation},
      {"goodput_rows_per_s", goodput},
      {"goodput_of_saturation", goodput / saturation},
      {"busy_ratio", Seconds(result.busy) / seconds / options_.instances()},
      {"rows_per_batch", result.batches == 0
                             ? 0
                             : static_cast<double>(result.rows) /
                                   static_cast<double>(result.batches)},
      {"late_drops", result.counted.served.dropped_requests.value()},
      {"closed_batches", reasons},
      {"latency_ms", LatencyJson(latency_)},
      {"classes", classes}};
  return json.dump(1) + "\n";
}

}  // namespace ferry::bench
