// Implements ToAiperf() and ToInferencePerf(): restores the histograms of each
// point, and takes the percentiles that the other tool has.
#include "bench/report/other_tools_json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "bench/load/latency_histogram.h"
#include "bench/report/point_rules.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;

struct Percentile {
  const char* name;
  double share;
};

constexpr Percentile kAiperfPercentiles[] = {
    {"p1", 0.01},  {"p5", 0.05}, {"p10", 0.1},  {"p25", 0.25}, {"p50", 0.5},
    {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
// Those that it writes unless it is told others.
constexpr Percentile kInferencePerfPercentiles[] = {
    {"p0.1", 0.001}, {"p1", 0.01},    {"p5", 0.05},    {"p10", 0.1},
    {"p25", 0.25},   {"median", 0.5}, {"p75", 0.75},   {"p90", 0.9},
    {"p95", 0.95},   {"p99", 0.99},   {"p99.9", 0.999}};

// What one point counted, or several together.
struct Counts {
  uint64_t planned = 0;
  uint64_t ok = 0;
  uint64_t failures = 0;
  std::optional<uint64_t> good;  // within the bound of the goodput
  std::map<std::string, uint64_t> errors;
  double ended = 0;  // successes that ended in the window
  double window_s = 0;
  LatencyHistogram latency;  // from the actual send, of successes
  LatencyHistogram failed;   // from the planned send
  LatencyHistogram send_lag;

  void Add(const Counts& other) {
    good = good.has_value() && other.good.has_value()
               ? std::optional<uint64_t>(*good + *other.good)
               : std::nullopt;
    planned += other.planned;
    ok += other.ok;
    failures += other.failures;
    for (const auto& [code, errors_of_code] : other.errors) {
      errors[code] += errors_of_code;
    }
    ended += other.ended;
    window_s += other.window_s;
    latency.Merge(other.latency);
    failed.Merge(other.failed);
    send_lag.Merge(other.send_lag);
  }
};

absl::StatusOr<Counts> CountsOf(const RunResult& run,
                                const PointResult& point) {
  const PointHistograms& histograms = point.histograms;
  if (histograms.latency_from_send.count != point.ok) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", run.label, "', ", DescribeLoad(point),
        ": expected a histogram of ", point.ok, " latencies, found one of ",
        histograms.latency_from_send.count,
        ", as in files of earlier versions; AIPerf's and inference-perf's "
        "files need it: measure again, or leave out --aiperf and "
        "--inference-perf"));
  }
  const auto latency = Restore(histograms.latency_from_send);
  const auto failed = Restore(histograms.failed_latency);
  const auto send_lag = Restore(histograms.send_lag);
  absl::Status status = latency.status();
  status.Update(failed.status());
  status.Update(send_lag.status());
  if (!status.ok()) {
    return status;
  }
  Counts counts = {.planned = point.planned,
                   .ok = point.ok,
                   .failures = point.error_count(),
                   .good = std::nullopt,
                   .errors = point.errors,
                   .ended = point.achieved_rate * point.window_s,
                   .window_s = point.window_s,
                   .latency = *latency,
                   .failed = *failed,
                   .send_lag = *send_lag};
  if (point.goodput_rate.has_value()) {
    counts.good = static_cast<uint64_t>(
        std::llround(*point.goodput_rate * point.window_s));
  }
  return counts;
}

double PerSecond(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

void AddPercentiles(const LatencyHistogram& histogram,
                    std::span<const Percentile> percentiles, double unit_ns,
                    Json& to) {
  for (const Percentile& percentile : percentiles) {
    to[percentile.name] =
        static_cast<double>(histogram.Quantile(percentile.share)) / unit_ns;
  }
}

std::string Text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json Scalar(const char* unit, double value) {
  return {{"unit", unit}, {"avg", value}};
}

Json AiperfLatency(const LatencyHistogram& latency) {
  Json json = Scalar("ms", latency.mean() / kNsPerMs);
  json["min"] = static_cast<double>(latency.min()) / kNsPerMs;
  json["max"] = static_cast<double>(latency.max()) / kNsPerMs;
  AddPercentiles(latency, kAiperfPercentiles, kNsPerMs, json);
  json["count"] = latency.count();
  json["sum"] = static_cast<double>(latency.sum()) / kNsPerMs;
  return json;
}

// Which point of which run it is.
Json AiperfRunInfo(const RunResult& run, const PointResult& point) {
  const bool is_open = point.loop == "open";
  Json info = {{"run_label", run.label},
               {"variation_label",
                is_open ? absl::StrFormat("request_rate_%g", point.target_rate)
                        : absl::StrCat("concurrency_", point.outstanding)},
               {"variation_index", &point - run.points.data()}};
  if (is_open) {
    info["variation_values"] = {{"phases.profiling.rate", point.target_rate}};
    info["random_seed"] = point.seed;
  } else {
    info["variation_values"] = {
        {"phases.profiling.concurrency", point.outstanding}};
  }
  info["cli_command"] = run.command;
  return info;
}

// Adds nothing in files of earlier versions, which do not tell the begin.
void AddAiperfTimes(const PointResult& point, Json& to) {
  absl::Time begin;
  if (!absl::ParseTime(absl::RFC3339_full, point.begun, &begin, nullptr)) {
    return;
  }
  to["start_time"] = point.begun;
  to["end_time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                                    begin + absl::Seconds(point.window_s),
                                    absl::UTCTimeZone());
}

Json AiperfPoint(const RunResult& run, const PointResult& point,
                 const Counts& counts) {
  constexpr char kRequests[] = "requests";
  constexpr char kRate[] = "requests/sec";
  Json json = {{"schema_version", "1.4"},
               {"request_throughput", Scalar(kRate, point.achieved_rate)}};
  if (counts.ok > 0) {
    json["request_latency"] = AiperfLatency(counts.latency);
  }
  json["request_count"] = Scalar(kRequests, static_cast<double>(counts.ok));
  json["error_request_count"] =
      Scalar(kRequests, static_cast<double>(counts.failures));
  if (counts.good.has_value()) {
    json["goodput"] = Scalar(kRate, *point.goodput_rate);
    json["good_request_count"] =
        Scalar(kRequests, static_cast<double>(*counts.good));
  }
  json["benchmark_duration"] = Scalar("sec", counts.window_s);
  json["run_info"] = AiperfRunInfo(run, point);
  json["was_cancelled"] = point.interrupted;
  json["error_summary"] = Json::array();
  for (const auto& [code, count] : counts.errors) {
    json["error_summary"].push_back(
        {{"error_details", {{"type", code}, {"message", code}}},
         {"count", count}});
  }
  AddAiperfTimes(point, json);
  return json;
}

// Returns null of no latencies, as inference-perf does.
Json InferencePerfLatency(const LatencyHistogram& latency) {
  if (latency.count() == 0) {
    return nullptr;
  }
  Json json = {{"mean", latency.mean() / kNsPerS},
               {"min", static_cast<double>(latency.min()) / kNsPerS},
               {"max", static_cast<double>(latency.max()) / kNsPerS}};
  AddPercentiles(latency, kInferencePerfPercentiles, kNsPerS, json);
  return json;
}

Json InferencePerfSuccesses(const Counts& counts) {
  Json json = {
      {"count", counts.ok},
      {"latency", {{"request_latency", InferencePerfLatency(counts.latency)}}},
      {"throughput",
       {{"requests_per_sec", PerSecond(counts.ended, counts.window_s)}}}};
  if (counts.good.has_value() && counts.ok > 0) {
    const auto good = static_cast<double>(*counts.good);
    const double percentage = good / static_cast<double>(counts.ok) * 100;
    json["goodput_metrics"] = {
        {"goodput_percentage", percentage},
        {"request_goodput", PerSecond(good, counts.window_s)},
        {"good_requests", *counts.good},
        {"total_requests", counts.ok},
        {"request_latency_attainment_percentage", percentage}};
  }
  return json;
}

Json InferencePerfReport(const Counts& counts) {
  Json by_label = Json::object();
  for (const auto& [code, count] : counts.errors) {
    by_label[code] = {{"count", count}, {"messages", Json::array()}};
  }
  return {{"benchmark_time_seconds", counts.window_s},
          {"load_summary",
           {{"count", counts.planned},
            {"schedule_delay", InferencePerfLatency(counts.send_lag)}}},
          {"successes", InferencePerfSuccesses(counts)},
          {"failures",
           {{"count", counts.failures},
            {"request_latency", InferencePerfLatency(counts.failed)},
            {"by_label", by_label}}}};
}

void AddStageLoad(const PointResult& point, Json& report) {
  Json& load = report["load_summary"];
  load["send_duration"] = point.window_s;
  if (point.loop == "open") {
    load["requested_rate"] = point.target_rate;
  }
  load["achieved_rate"] = point.offered_rate;
  if (point.loop == "closed") {
    load["concurrency"] = point.outstanding;
  }
}

}  // namespace

absl::StatusOr<std::vector<FileText>> ToAiperf(
    const std::vector<RunResult>& runs) {
  std::vector<FileText> files;
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (!IsForOtherTools(point)) {
        continue;
      }
      const auto counts = CountsOf(run, point);
      if (!counts.ok()) {
        return counts.status();
      }
      files.push_back({absl::StrFormat("run_%04d/profile_export_aiperf.json",
                                       files.size() + 1),
                       Text(AiperfPoint(run, point, *counts))});
    }
  }
  return files;
}

absl::StatusOr<std::vector<FileText>> ToInferencePerf(
    const std::vector<RunResult>& runs) {
  std::vector<FileText> files;
  std::optional<Counts> all;
  for (const RunResult& run : runs) {
    for (const PointResult& point : run.points) {
      if (!IsForOtherTools(point)) {
        continue;
      }
      const auto counts = CountsOf(run, point);
      if (!counts.ok()) {
        return counts.status();
      }
      Json report = InferencePerfReport(*counts);
      AddStageLoad(point, report);
      files.push_back(
          {absl::StrFormat("stage_%d_lifecycle_metrics.json", files.size()),
           Text(report)});
      if (all.has_value()) {
        all->Add(*counts);
      } else {
        all = *counts;
      }
    }
  }
  if (all.has_value()) {
    files.push_back(
        {"summary_lifecycle_metrics.json", Text(InferencePerfReport(*all))});
  }
  return files;
}

}  // namespace ferry::bench
