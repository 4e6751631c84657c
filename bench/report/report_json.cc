// Implements ToJson() and ParseJson(): one function each way for each struct;
// unknown keys are ignored.
#include "bench/report/report_json.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/readable_file.h"
#include "bench/report/compact_json.h"
#include "bench/report/config_hash.h"
#include "bench/report/device_json.h"
#include "bench/report/knee.h"
#include "bench/report/point_json.h"
#include "bench/report/point_rules.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr char kFormat[] = "ferry-bench/1";

Json RuntimeOptionsToJson(
    const std::optional<RuntimeSetting>& runtime_options) {
  if (!runtime_options.has_value()) {
    return nullptr;
  }
  return {{"policy", runtime_options->policy},
          {"max_batch_size", runtime_options->max_batch_size},
          {"max_wait_ms", runtime_options->max_wait_ms}};
}

std::optional<RuntimeSetting> RuntimeOptionsFromJson(const Json& json) {
  // Files of earlier versions name them "knobs".
  const char* const key = json.contains("knobs") ? "knobs" : "runtime_options";
  if (!json.contains(key) || json.at(key).is_null()) {
    return std::nullopt;
  }
  const Json& runtime_options = json.at(key);
  return RuntimeSetting{runtime_options.at("policy").get<std::string>(),
                        runtime_options.at("max_batch_size").get<int32_t>(),
                        runtime_options.at("max_wait_ms").get<double>()};
}

Json SearchToJson(const RunResult& run) {
  const std::optional<SearchSummary>& search = run.search;
  if (!search.has_value()) {
    return nullptr;
  }
  return {{"slo_ms", search->slo_ms},
          {"percentile", search->percentile},
          {"success", search->success},
          {"found_rate", OptionalToJson(search->found_rate)},
          {"unconfirmed_rate", OptionalToJson(UnconfirmedRate(run))},
          {"client_ceiling", search->client_ceiling},
          {"precision", search->precision}};
}

std::optional<SearchSummary> SearchFromJson(const Json& json) {
  if (!json.contains("search") || json.at("search").is_null()) {
    return std::nullopt;
  }
  const Json& search = json.at("search");
  return SearchSummary{
      .slo_ms = search.at("slo_ms").get<double>(),
      .percentile = search.at("percentile").get<double>(),
      .success = search.value("success", 0.0),
      .found_rate = OptionalFromJson(search.at("found_rate")),
      .client_ceiling = search.at("client_ceiling").get<double>(),
      .precision = search.value("precision", 0.0)};
}

// Not read again, nor are the doubt of the saturation and an unconfirmed rate:
// they follow from the points.
Json KneeToJson(const RunResult& run) {
  const auto knee = FindKnee(run);
  if (!knee.has_value()) {
    return nullptr;
  }
  return {{"rate", knee->rate},           {"mean_us", knee->mean_us},
          {"p99_us", knee->p99_us},       {"power", knee->power},
          {"is_lowest", knee->is_lowest}, {"is_highest", knee->is_highest}};
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
            {"address", run.address},
            {"extensions", run.environment.server_extensions}}},
          {"model",
           {{"name", run.model},
            {"platform", run.platform},
            {"max_batch_size",
             run.has_config ? Json(run.max_batch_size) : Json(nullptr)},
            {"simulated", run.has_config || run.is_simulated
                              ? Json(run.is_simulated)
                              : Json(nullptr)},
            {"instances", run.environment.instances},
            {"config_sha256", run.environment.model_config_sha256}}},
          {"runtime_options", RuntimeOptionsToJson(run.runtime_options)},
          {"rows_per_request", run.rows_per_request},
          {"classes", run.classes},
          {"request_bytes", run.request_bytes},
          {"data", run.data},
          {"warm_up_s", run.warm_up_s},
          {"saturation_rate", run.saturation_rate},
          {"saturation_doubt", DoubtOfSaturation(run)},
          {"slo_ms", OptionalToJson(run.slo_ms)},
          {"search", SearchToJson(run)},
          {"knee", KneeToJson(run)},
          {"machine",
           {{"cpu", run.cpu},
            {"cpu_flags", run.cpu_flags},
            {"cores", run.cores},
            {"kernel", run.kernel},
            {"governor", run.environment.governor},
            {"load_average", run.environment.load_average},
            {"memory_bytes", run.environment.memory_bytes}}},
          {"versions",
           {{"grpc", run.environment.grpc_version},
            {"compiler", run.environment.compiler},
            {"build", run.environment.build}}},
          {"config", run.environment.flags},
          {"config_sha256", HashOfFlags(run.environment.flags)},
          {"points", points}};
}

// Older files lack all of it.
Environment EnvironmentFromJson(const Json& json) {
  Environment environment;
  const Json& machine = json.at("machine");
  environment.governor = machine.value("governor", "");
  environment.load_average =
      machine.value("load_average", std::vector<double>());
  environment.memory_bytes = machine.value("memory_bytes", uint64_t{0});
  const Json versions = json.value("versions", Json::object());
  environment.grpc_version = versions.value("grpc", "");
  environment.compiler = versions.value("compiler", "");
  environment.build = versions.value("build", "");
  environment.server_extensions =
      json.at("server").value("extensions", std::vector<std::string>());
  environment.instances = json.at("model").value("instances", "");
  environment.model_config_sha256 = json.at("model").value("config_sha256", "");
  environment.flags =
      json.value("config", std::map<std::string, std::string>());
  environment.device = DeviceFactsOf(json);
  return environment;
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
  run.has_config = !json.at("model").at("max_batch_size").is_null();
  run.max_batch_size =
      run.has_config ? json.at("model").at("max_batch_size").get<int32_t>() : 0;
  const Json& is_simulated = json.at("model").at("simulated");
  run.is_simulated = !is_simulated.is_null() && is_simulated.get<bool>();
  json.at("rows_per_request").get_to(run.rows_per_request);
  run.runtime_options = RuntimeOptionsFromJson(json);
  run.classes = json.value("classes", std::vector<std::string>());
  json.at("request_bytes").get_to(run.request_bytes);
  run.data = json.value("data", "");  // older files lack it
  json.at("warm_up_s").get_to(run.warm_up_s);
  json.at("saturation_rate").get_to(run.saturation_rate);
  run.slo_ms = OptionalFromJson(json.value("slo_ms", Json(nullptr)));
  run.search = SearchFromJson(json);
  json.at("machine").at("cpu").get_to(run.cpu);
  json.at("machine").at("cpu_flags").get_to(run.cpu_flags);
  json.at("machine").at("cores").get_to(run.cores);
  json.at("machine").at("kernel").get_to(run.kernel);
  run.environment = EnvironmentFromJson(json);
  for (const Json& point : json.at("points")) {
    run.points.push_back(PointFromJson(point));
  }
  return run;
}

absl::Status NoResult(const std::string& name, const std::string& found) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": expected a result that ferry-bench wrote with --json (format \"",
      kFormat, "\"), found ", found));
}

}  // namespace

std::string ToJson(const std::vector<RunResult>& runs) {
  Json document = {{"format", kFormat}, {"runs", Json::array()}};
  for (const RunResult& run : runs) {
    document["runs"].push_back(RunToJson(run));
    AddDevice(run.environment.device, document["runs"].back());
  }
  return CompactNumbers(
      document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

absl::StatusOr<std::vector<RunResult>> ParseJson(const std::string& text,
                                                 const std::string& name) {
  // nlohmann reports by exception; this is its edge.
  try {
    const Json document = Json::parse(text);
    const Json format =
        document.is_object() ? document.value("format", Json()) : Json();
    if (format != Json(kFormat)) {
      return NoResult(name, format.is_null() ? "JSON without a format"
                                             : "format " + format.dump());
    }
    std::vector<RunResult> runs;
    for (const Json& run : document.at("runs")) {
      runs.push_back(RunFromJson(run));
    }
    return runs;
  } catch (const Json::exception& error) {
    // "[json...] parse error at line ...", or "key 'label' not found"
    const std::string why = error.what();
    return NoResult(name, why.substr(why.find("] ") + 2));
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
  const auto file = OpenToRead(path);
  if (!file.ok()) {
    return file.status();
  }
  std::ostringstream text;
  text << file->rdbuf();
  return text.str();
}

}  // namespace ferry::bench
