// Implements ServerLook: rates are those of the last sample of /status.json,
// which the server computes; what is so now is in /metrics.
#include "deploy/ctl/server_look.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "bench/device/metrics_page.h"
#include "deploy/ctl/ask_each.h"
#include "deploy/ctl/json_member.h"

namespace ferry::ctl {
namespace {

using Json = nlohmann::json;
using Known = std::optional<double>;

std::string Text(const Json& object, const char* key) {
  return PrintableText(TextOf(Member(object, key)));
}

Known Number(const Json& value) {
  return value.is_number() ? Known(value.get<double>()) : std::nullopt;
}

Known Last(const Json& samples, const char* column) {
  const Json& values = Member(samples, column);
  return values.is_array() && !values.empty() ? Number(values.back())
                                              : std::nullopt;
}

bool IsVersion(const Json& model, const VersionLook& look) {
  return Text(model, "name") == look.name &&
         Text(model, "version") == look.version;
}

Known Gauge(const std::vector<bench::MetricSample>& samples,
            const VersionLook& look) {
  for (const bench::MetricSample& sample : samples) {
    if (PrintableText(sample.Label("model")) == look.name &&
        sample.Label("version") == look.version &&
        std::isfinite(sample.value)) {
      return sample.value;
    }
  }
  return std::nullopt;
}

void AddSamples(const Json& samples, VersionLook& look) {
  look.requests_per_second = Last(samples, "requests_per_second");
  look.refused_per_second = Last(samples, "refused_per_second");
  look.p50_ms = Last(samples, "p50_ms");
  look.p99_ms = Last(samples, "p99_ms");
  look.rows_per_batch = Last(samples, "rows_per_batch");
}

void AddVersions(const Json& status, const std::string& metrics_page,
                 ServerLook& look) {
  const auto loads = bench::SamplesOf(metrics_page, "ferry_load_5s_ratio");
  const auto queues = bench::SamplesOf(metrics_page, "ferry_queue_requests{");
  for (const Json& version : Member(status, "versions")) {
    VersionLook& of_version = look.versions.emplace_back(
        VersionLook{.name = Text(version, "name"),
                    .version = Text(version, "version"),
                    .state = Text(version, "state"),
                    .reason = Text(version, "reason")});
    for (const Json& model : Member(status, "models")) {
      if (IsVersion(model, of_version)) {
        AddSamples(Member(model, "samples"), of_version);
        of_version.load = Gauge(loads, of_version);
        of_version.queued_requests = Gauge(queues, of_version);
      }
    }
  }
}

void AddDevice(const Json& device, ServerLook& look) {
  if (!device.is_object()) {
    return;
  }
  const Json& samples = Member(device, "samples");
  look.device = DeviceLook{
      .name = Text(device, "name"),
      .profile = Text(device, "profile"),
      .busy_ratio = Last(samples, "busy_ratio"),
      .sm_ratio = Last(samples, "sm_ratio"),
      .memory_bytes = Last(samples, "memory_used_bytes"),
      .memory_total_bytes = Number(Member(device, "memory_total_bytes")),
      .power_watts = Last(samples, "power_watts"),
      .temperature_celsius = Last(samples, "temperature_celsius")};
}

ServerLook LookAtOne(const HttpSource& server, Duration timeout) {
  const auto status = GetServerPage(server, "/status.json", timeout);
  const auto metrics =
      status.ok() ? GetServerPage(server, "/metrics", timeout) : status;
  auto look = metrics.ok() ? ParseLook(server.address, *status, *metrics)
                           : metrics.status();
  return look.ok()
             ? *std::move(look)
             : ServerLook{.address = server.address, .failure = look.status()};
}

}  // namespace

absl::StatusOr<ServerLook> ParseLook(const std::string& address,
                                     const std::string& status_page,
                                     const std::string& metrics_page) {
  const Json status = Json::parse(status_page, /*cb=*/nullptr,
                                  /*allow_exceptions=*/false);
  if (Text(status, "format") != "ferry-status/1" ||
      !Member(status, "versions").is_array()) {
    return absl::FailedPreconditionError(absl::StrCat(
        address,
        ": expected /status.json of a ferry-server of this version, "
        "with the format ferry-status/1 and versions, got another"));
  }
  ServerLook look = {.address = address,
                     .server_version = Text(status, "server_version"),
                     .state = Text(status, "state"),
                     .is_ready = Member(status, "ready") == Json(true)};
  for (const auto& sample :
       bench::SamplesOf(metrics_page, "process_start_time_seconds")) {
    look.start_s = sample.value;
  }
  for (const auto& sample :
       bench::SamplesOf(metrics_page, "ferry_refused_total")) {
    if (sample.value > 0) {
      look.refusals[PrintableText(sample.Label("reason"))] += sample.value;
    }
  }
  AddVersions(status, metrics_page, look);
  AddDevice(Member(status, "device"), look);
  return look;
}

std::vector<ServerLook> LookAt(const std::vector<HttpSource>& servers,
                               Duration timeout) {
  return AskEach(servers, [timeout](const HttpSource& server) {
    return LookAtOne(server, timeout);
  });
}

}  // namespace ferry::ctl
