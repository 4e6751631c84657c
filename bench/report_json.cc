// One function each way for each struct; unknown keys are ignored.
#include "bench/report_json.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "ferry-bench/1";

Json LatencyToJson(const LatencySummary& latency) {
  return {{"p50_us", latency.p50_us}, {"p90_us", latency.p90_us},
          {"p99_us", latency.p99_us}, {"p999_us", latency.p999_us},
          {"max_us", latency.max_us}, {"mean_us", latency.mean_us}};
}

LatencySummary LatencyFromJson(const Json& json) {
  LatencySummary latency;
  json.at("p50_us").get_to(latency.p50_us);
  json.at("p90_us").get_to(latency.p90_us);
  json.at("p99_us").get_to(latency.p99_us);
  json.at("p999_us").get_to(latency.p999_us);
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

Json PointToJson(const PointResult& point) {
  return {{"loop", point.loop},
          {"outstanding", point.outstanding},
          {"target_rate", point.target_rate},
          {"offered_rate", point.offered_rate},
          {"achieved_rate", point.achieved_rate},
          {"load", OptionalToJson(point.load)},
          {"window_s", point.window_s},
          {"seed", point.seed},
          {"planned", point.planned},
          {"ok", point.ok},
          {"errors", point.errors},
          {"latency", LatencyToJson(point.latency)},
          {"latency_from_send", LatencyToJson(point.latency_from_send)},
          {"failed_latency", LatencyToJson(point.failed_latency)},
          {"send_lag", LatencyToJson(point.send_lag)},
          {"mean_rows", OptionalToJson(point.mean_rows)},
          {"busy_ratio", OptionalToJson(point.busy_ratio)},
          {"busy_source", point.busy_source},
          {"void_reason", point.void_reason},
          {"interrupted", point.interrupted}};
}

PointResult PointFromJson(const Json& json) {
  PointResult point;
  json.at("loop").get_to(point.loop);
  json.at("outstanding").get_to(point.outstanding);
  json.at("target_rate").get_to(point.target_rate);
  json.at("offered_rate").get_to(point.offered_rate);
  json.at("achieved_rate").get_to(point.achieved_rate);
  point.load = OptionalFromJson(json.at("load"));
  json.at("window_s").get_to(point.window_s);
  json.at("seed").get_to(point.seed);
  json.at("planned").get_to(point.planned);
  json.at("ok").get_to(point.ok);
  json.at("errors").get_to(point.errors);
  point.latency = LatencyFromJson(json.at("latency"));
  point.latency_from_send = LatencyFromJson(json.at("latency_from_send"));
  point.failed_latency = LatencyFromJson(json.at("failed_latency"));
  point.send_lag = LatencyFromJson(json.at("send_lag"));
  point.mean_rows = OptionalFromJson(json.at("mean_rows"));
  point.busy_ratio = OptionalFromJson(json.at("busy_ratio"));
  json.at("busy_source").get_to(point.busy_source);
  json.at("void_reason").get_to(point.void_reason);
  json.at("interrupted").get_to(point.interrupted);
  return point;
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
          {"rows_per_request", run.rows_per_request},
          {"request_bytes", run.request_bytes},
          {"warm_up_s", run.warm_up_s},
          {"saturation_rate", run.saturation_rate},
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
  json.at("request_bytes").get_to(run.request_bytes);
  json.at("warm_up_s").get_to(run.warm_up_s);
  json.at("saturation_rate").get_to(run.saturation_rate);
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
