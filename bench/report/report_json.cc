// One function each way for each struct; unknown keys are ignored.
#include "bench/report/report_json.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "ferry-bench/1";

Json LatencyToJson(const LatencySummary& latency) {
  return {{"p50_us", latency.p50_us},   {"p90_us", latency.p90_us},
          {"p95_us", latency.p95_us},   {"p99_us", latency.p99_us},
          {"p999_us", latency.p999_us}, {"p9999_us", latency.p9999_us},
          {"max_us", latency.max_us},   {"mean_us", latency.mean_us}};
}

LatencySummary LatencyFromJson(const Json& json) {
  LatencySummary latency;
  json.at("p50_us").get_to(latency.p50_us);
  json.at("p90_us").get_to(latency.p90_us);
  latency.p95_us = json.value("p95_us", 0.0);  // older files lack it
  json.at("p99_us").get_to(latency.p99_us);
  json.at("p999_us").get_to(latency.p999_us);
  latency.p9999_us = json.value("p9999_us", 0.0);
  json.at("max_us").get_to(latency.max_us);
  json.at("mean_us").get_to(latency.mean_us);
  return latency;
}

Json OptionalToJson(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

std::optional<double> OptionalFromJson(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

Json IntervalToJson(const std::optional<Interval>& interval) {
  return interval.has_value() ? Json({interval->low_us, interval->high_us})
                              : Json(nullptr);
}

// Files of before there were intervals lack them.
std::optional<Interval> IntervalFromJson(const Json& json, const char* key) {
  if (!json.contains(key) || json.at(key).is_null()) {
    return std::nullopt;
  }
  return Interval{json.at(key).at(0).get<double>(),
                  json.at(key).at(1).get<double>()};
}

Json SeriesToJson(const std::vector<SliceSummary>& series) {
  Json slices = Json::array();
  for (const SliceSummary& slice : series) {
    slices.push_back({{"end_s", slice.end_s},
                      {"planned", slice.planned},
                      {"failed", slice.failed},
                      {"p50_us", slice.p50_us},
                      {"p99_us", slice.p99_us},
                      {"lag_p50_us", slice.lag_p50_us},
                      {"lag_p99_us", slice.lag_p99_us}});
  }
  return slices;
}

std::vector<SliceSummary> SeriesFromJson(const Json& json) {
  std::vector<SliceSummary> series;
  for (const Json& slice : json.value("series", Json::array())) {
    series.push_back({.end_s = slice.at("end_s").get<double>(),
                      .planned = slice.at("planned").get<uint64_t>(),
                      .failed = slice.at("failed").get<uint64_t>(),
                      .p50_us = slice.at("p50_us").get<double>(),
                      .p99_us = slice.at("p99_us").get<double>(),
                      // Older files lack these.
                      .lag_p50_us = slice.value("lag_p50_us", 0.0),
                      .lag_p99_us = slice.value("lag_p99_us", 0.0)});
  }
  return series;
}

Json ClassesToJson(const std::vector<ClassSummary>& classes) {
  Json all = Json::array();
  for (const ClassSummary& one : classes) {
    all.push_back({{"planned", one.planned},
                   {"ok", one.ok},
                   {"errors", one.errors},
                   {"latency", LatencyToJson(one.latency)}});
  }
  return all;
}

std::vector<ClassSummary> ClassesFromJson(const Json& json) {
  std::vector<ClassSummary> classes;
  for (const Json& one : json.value("classes", Json::array())) {
    ClassSummary& read = classes.emplace_back();
    one.at("planned").get_to(read.planned);
    one.at("ok").get_to(read.ok);
    one.at("errors").get_to(read.errors);
    read.latency = LatencyFromJson(one.at("latency"));
  }
  return classes;
}

Json PointToJson(const PointResult& point) {
  return {{"loop", point.loop},
          {"arrivals", point.arrivals},
          {"outstanding", point.outstanding},
          {"target_rate", point.target_rate},
          {"offered_rate", point.offered_rate},
          {"achieved_rate", point.achieved_rate},
          {"load", OptionalToJson(point.load)},
          {"query_rows", point.query_rows},
          {"rows_rate", OptionalToJson(point.rows_rate)},
          {"window_s", point.window_s},
          {"seed", point.seed},
          {"planned", point.planned},
          {"ok", point.ok},
          {"errors", point.errors},
          {"latency", LatencyToJson(point.latency)},
          {"latency_from_send", LatencyToJson(point.latency_from_send)},
          {"failed_latency", LatencyToJson(point.failed_latency)},
          {"send_lag", LatencyToJson(point.send_lag)},
          {"mean_95_us", IntervalToJson(point.mean_interval)},
          {"p50_95_us", IntervalToJson(point.p50_interval)},
          {"p99_95_us", IntervalToJson(point.p99_interval)},
          {"series", SeriesToJson(point.series)},
          {"unsteady", point.unsteady},
          {"classes", ClassesToJson(point.classes)},
          {"mean_rows", OptionalToJson(point.mean_rows)},
          {"busy_ratio", OptionalToJson(point.busy_ratio)},
          {"busy_source", point.busy_source},
          {"purpose", point.purpose},
          {"void_reason", point.void_reason},
          {"interrupted", point.interrupted}};
}

PointResult PointFromJson(const Json& json) {
  PointResult point;
  json.at("loop").get_to(point.loop);
  point.arrivals = json.value("arrivals", "");  // older files have none
  json.at("outstanding").get_to(point.outstanding);
  json.at("target_rate").get_to(point.target_rate);
  json.at("offered_rate").get_to(point.offered_rate);
  json.at("achieved_rate").get_to(point.achieved_rate);
  point.load = OptionalFromJson(json.at("load"));
  point.query_rows = json.value("query_rows", uint64_t{0});
  point.rows_rate = OptionalFromJson(json.value("rows_rate", Json(nullptr)));
  json.at("window_s").get_to(point.window_s);
  json.at("seed").get_to(point.seed);
  json.at("planned").get_to(point.planned);
  json.at("ok").get_to(point.ok);
  json.at("errors").get_to(point.errors);
  point.latency = LatencyFromJson(json.at("latency"));
  point.latency_from_send = LatencyFromJson(json.at("latency_from_send"));
  point.failed_latency = LatencyFromJson(json.at("failed_latency"));
  point.send_lag = LatencyFromJson(json.at("send_lag"));
  point.mean_interval = IntervalFromJson(json, "mean_95_us");
  point.p50_interval = IntervalFromJson(json, "p50_95_us");
  point.p99_interval = IntervalFromJson(json, "p99_95_us");
  point.series = SeriesFromJson(json);
  point.unsteady = json.value("unsteady", "");
  point.classes = ClassesFromJson(json);
  point.mean_rows = OptionalFromJson(json.at("mean_rows"));
  point.busy_ratio = OptionalFromJson(json.at("busy_ratio"));
  json.at("busy_source").get_to(point.busy_source);
  point.purpose = json.value("purpose", "");
  json.at("void_reason").get_to(point.void_reason);
  json.at("interrupted").get_to(point.interrupted);
  return point;
}

Json KnobsToJson(const std::optional<KnobSetting>& knobs) {
  if (!knobs.has_value()) {
    return nullptr;
  }
  return {{"policy", knobs->policy},
          {"max_batch_size", knobs->max_batch_size},
          {"max_wait_ms", knobs->max_wait_ms}};
}

std::optional<KnobSetting> KnobsFromJson(const Json& json) {
  if (!json.contains("knobs") || json.at("knobs").is_null()) {
    return std::nullopt;
  }
  const Json& knobs = json.at("knobs");
  return KnobSetting{knobs.at("policy").get<std::string>(),
                     knobs.at("max_batch_size").get<int32_t>(),
                     knobs.at("max_wait_ms").get<double>()};
}

Json SearchToJson(const std::optional<SearchSummary>& search) {
  if (!search.has_value()) {
    return nullptr;
  }
  return {{"slo_ms", search->slo_ms},
          {"percentile", search->percentile},
          {"found_rate", OptionalToJson(search->found_rate)},
          {"client_ceiling", search->client_ceiling}};
}

std::optional<SearchSummary> SearchFromJson(const Json& json) {
  if (!json.contains("search") || json.at("search").is_null()) {
    return std::nullopt;
  }
  const Json& search = json.at("search");
  return SearchSummary{
      .slo_ms = search.at("slo_ms").get<double>(),
      .percentile = search.at("percentile").get<double>(),
      .found_rate = OptionalFromJson(search.at("found_rate")),
      .client_ceiling = search.at("client_ceiling").get<double>()};
}

Json RunToJson(const RunResult& run) {
  Json points = Json::array();
  for (const PointResult& point : run.points) {
    points.push_back(PointToJson(point));
  }
  return {{"label", run.label},
          {"date", run.date},
          {"command", run.command},
          {"client_version", run.client_version},
          {"server",
           {{"name", run.server_name},
            {"version", run.server_version},
            {"address", run.address}}},
          {"model",
           {{"name", run.model},
            {"platform", run.platform},
            {"max_batch_size", run.max_batch_size},
            {"simulated", run.is_simulated}}},
          {"knobs", KnobsToJson(run.knobs)},
          {"rows_per_request", run.rows_per_request},
          {"classes", run.classes},
          {"request_bytes", run.request_bytes},
          {"warm_up_s", run.warm_up_s},
          {"saturation_rate", run.saturation_rate},
          {"search", SearchToJson(run.search)},
          {"machine",
           {{"cpu", run.cpu},
            {"cpu_flags", run.cpu_flags},
            {"cores", run.cores},
            {"kernel", run.kernel}}},
          {"points", points}};
}

RunResult RunFromJson(const Json& json) {
  RunResult run;
  json.at("label").get_to(run.label);
  json.at("date").get_to(run.date);
  json.at("command").get_to(run.command);
  json.at("client_version").get_to(run.client_version);
  json.at("server").at("name").get_to(run.server_name);
  json.at("server").at("version").get_to(run.server_version);
  json.at("server").at("address").get_to(run.address);
  json.at("model").at("name").get_to(run.model);
  json.at("model").at("platform").get_to(run.platform);
  json.at("model").at("max_batch_size").get_to(run.max_batch_size);
  json.at("model").at("simulated").get_to(run.is_simulated);
  json.at("rows_per_request").get_to(run.rows_per_request);
  run.knobs = KnobsFromJson(json);
  run.classes = json.value("classes", std::vector<std::string>());
  json.at("request_bytes").get_to(run.request_bytes);
  json.at("warm_up_s").get_to(run.warm_up_s);
  json.at("saturation_rate").get_to(run.saturation_rate);
  run.search = SearchFromJson(json);
  json.at("machine").at("cpu").get_to(run.cpu);
  json.at("machine").at("cpu_flags").get_to(run.cpu_flags);
  json.at("machine").at("cores").get_to(run.cores);
  json.at("machine").at("kernel").get_to(run.kernel);
  for (const Json& point : json.at("points")) {
    run.points.push_back(PointFromJson(point));
  }
  return run;
}

}  // namespace

std::string ToJson(const std::vector<RunResult>& runs) {
  Json document = {{"format", kFormat}, {"runs", Json::array()}};
  for (const RunResult& run : runs) {
    document["runs"].push_back(RunToJson(run));
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::vector<RunResult>> ParseJson(const std::string& text,
                                                 const std::string& name) {
  // nlohmann reports by exception; this is its edge.
  try {
    const Json document = Json::parse(text);
    if (document.value("format", "") != kFormat) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": expected format \"", kFormat, "\", got \"",
                       document.value("format", ""), "\""));
    }
    std::vector<RunResult> runs;
    for (const Json& run : document.at("runs")) {
      runs.push_back(RunFromJson(run));
    }
    return runs;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.what()));
  }
}

absl::StatusOr<std::vector<RunResult>> ReadRuns(
    const std::vector<std::string>& paths) {
  std::vector<RunResult> joined;
  for (const std::string& path : paths) {
    const auto text = ReadFile(path);
    if (!text.ok()) {
      return text.status();
    }
    auto runs = ParseJson(*text, path);
    if (!runs.ok()) {
      return runs.status();
    }
    joined.insert(joined.end(), runs->begin(), runs->end());
  }
  return joined;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::Status WriteFile(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::trunc);
  file << contents;
  file.close();
  if (!file) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench
