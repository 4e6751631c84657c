// Implements VirtualSummary: counts records, and writes them as JSON and text.
#include "bench/virtual/virtual_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMuchBusier = 0.1;  // than the share of saturation

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Ms(double ns) { return ns / 1e6; }

double RowsPerBatch(const VirtualRunResult& result) {
  return result.batches == 0 ? 0
                             : static_cast<double>(result.rows) /
                                   static_cast<double>(result.batches);
}

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

double VirtualSummary::SaturationRate() const {
  const int32_t rows = options_.scheduler.max_batch_size;
  return options_.instances() * rows / Seconds(options_.ServiceTime(rows));
}

double VirtualSummary::Goodput() const {
  int64_t rows = 0;
  for (const Counts& counts : by_class_) {
    rows += counts.good_rows;
  }
  return static_cast<double>(rows) / Seconds(options_.duration);
}

double VirtualSummary::BusyRatio(const VirtualRunResult& result) const {
  return Seconds(result.busy) / Seconds(options_.duration) /
         options_.instances();
}

bool VirtualSummary::AllInTime() const {
  return std::all_of(by_class_.begin(), by_class_.end(), [](const Counts& of) {
    return of.refused + of.failed + of.late == 0;
  });
}

std::string VirtualSummary::ToText(const VirtualRunResult& result) const {
  const double share = Goodput() / SaturationRate();
  const double computed =  // as a share, with what came too late to count
      static_cast<double>(result.rows) / Seconds(options_.duration) /
      SaturationRate();
  const double busy = BusyRatio(result);
  std::string text = absl::StrFormat(
      "%s: %.0f rows/s, %.0f %% of saturation, at %.2f rows a batch; busy "
      "%.0f %% of the time",
      PolicyName(options_.scheduler.policy), Goodput(), share * 100,
      RowsPerBatch(result), busy * 100);
  if (AllInTime() && busy > computed + kMuchBusier) {
    absl::StrAppendFormat(
        &text,
        ", since a row costs more in a batch that is not full (%d): this is no "
        "sign of saturation",
        options_.scheduler.max_batch_size);
  }
  return text + "\n";
}

std::string VirtualSummary::ToJson(const VirtualRunResult& result) const {
  const double seconds = Seconds(options_.duration);
  const double saturation = SaturationRate();
  const double goodput = Goodput();
  Json classes = Json::array();
  for (size_t i = 0; i < by_class_.size(); ++i) {
    const Counts& counts = by_class_[i];
    const double rows_per_s = static_cast<double>(counts.good_rows) / seconds;
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
  const ServiceTimeLine& learned = result.counted.service_time;
  const Json json = {
      {"format", "ferry-bench-simulate/1"},
      {"simulated", true},
      {"policy", PolicyName(options_.scheduler.policy)},
      {"duration_s", seconds},
      {"saturation_rows_per_s", saturation},
      {"goodput_rows_per_s", goodput},
      {"goodput_of_saturation", goodput / saturation},
      {"busy_ratio", BusyRatio(result)},
      {"rows_per_batch", RowsPerBatch(result)},
      {"learned_ms",
       {{"batch", learned.alpha_ns / 1e6}, {"row", learned.beta_ns / 1e6}}},
      {"late_drops", result.counted.served.dropped_requests.value()},
      {"closed_batches", reasons},
      {"latency_ms", LatencyJson(latency_)},
      {"classes", classes}};
  return json.dump(1) + "\n";
}

}  // namespace ferry::bench
