// Implements UseSource: a page, or four queries, to seconds of models and
// clients.
#include "deploy/ctl/use_source.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/printable_text.h"
#include "bench/device/metrics_page.h"
#include "deploy/ctl/metrics_reading.h"
#include "deploy/ctl/source_flags.h"
#include "deploy/ctl/time_text.h"

namespace ferry::ctl {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(10);
constexpr char kStart[] = "process_start_time_seconds";
constexpr char kBusy[] = "ferry_compute_busy_seconds_total";
constexpr char kClientSeconds[] = "ferry_client_compute_seconds_total";
constexpr char kDevice[] = "ferry_device_info";
// A server whose samples are further apart is away to Prometheus.
constexpr int64_t kLookBackS = 300;

// @ stands for the labels of the server, WINDOW for its seconds, END for its
// end.
constexpr char kModelsQuery[] =
    "sum by (model) (increase("
    "ferry_compute_busy_seconds_total{@}[WINDOW] @ END))";
constexpr char kClientsQuery[] =
    "sum by (client, model) (increase("
    "ferry_client_compute_seconds_total{@}[WINDOW] @ END))";
constexpr char kDevicesQuery[] =
    "group by (uuid) (last_over_time(ferry_device_info{@}[WINDOW] @ END))";
constexpr char kBeginQuery[] =
    "min(min_over_time(timestamp(ferry_instances{@})[WINDOW:1m] @ END))";

using Names = std::pair<std::string, std::string>;  // of model and client

// Returns seconds by model and client, without those that have none.
std::vector<plan::ComputeUse> Summed(const std::vector<SeriesSample>& samples) {
  std::map<Names, double> sums;
  for (const SeriesSample& sample : samples) {
    if (sample.value > 0) {
      sums[{PrintableText(sample.Label("model")),
            PrintableText(sample.Label("client"))}] += sample.value;
    }
  }
  std::vector<plan::ComputeUse> uses;
  for (const auto& [names, seconds] : sums) {
    uses.push_back(
        {.model = names.first, .client = names.second, .seconds = seconds});
  }
  return uses;
}

// Sets what models and clients had, and the device where it is one.
void SetUse(const UseSamples& samples, MeasuredUse& use) {
  use.models = Summed(samples.models);
  use.clients = Summed(samples.clients);
  if (samples.devices.size() == 1) {
    use.device = PrintableText(samples.devices.front().Label("uuid"));
  }
  // A model that is no more served may have no counter: what its clients had
  // is its use.
  std::map<std::string, double> gone;
  for (const plan::ComputeUse& client : use.clients) {
    if (std::none_of(use.models.begin(), use.models.end(),
                     [&client](const plan::ComputeUse& model) {
                       return model.model == client.model;
                     })) {
      gone[client.model] += client.seconds;
    }
  }
  for (const auto& [model, seconds] : gone) {
    use.models.push_back({.model = model, .client = "", .seconds = seconds});
  }
}

std::vector<SeriesSample> SeriesOf(absl::string_view page, const char* name) {
  std::vector<SeriesSample> series;
  for (bench::MetricSample& sample : bench::SamplesOf(page, name)) {
    series.push_back(
        {.labels = std::move(sample.labels), .value = sample.value});
  }
  return series;
}

absl::StatusOr<MeasuredUse> UseOfServer(const UseFlags& flags,
                                        const HttpFiles& http) {
  const auto source = MakeHttpSource("--from", flags.address, http);
  if (!source.ok()) {
    return source.status();
  }
  const auto page = GetServerPage(*source, "/metrics", kTimeout);
  if (!page.ok()) {
    return page.status();
  }
  auto use = UseOfPage(*page, absl::Now());
  const std::string name = absl::StrCat(source->url(), "/metrics");
  if (!use.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": ", use.status().message()));
  }
  use->source = name;
  return use;
}

absl::StatusOr<MeasuredUse> UseInPrometheus(const UseFlags& flags,
                                            const HttpFiles& http) {
  const auto source =
      MakeHttpSource("--from-prometheus", flags.prometheus, http);
  if (!source.ok()) {
    return source.status();
  }
  const auto selector = FindServer(*source, flags.window);
  if (!selector.ok()) {
    return selector.status();
  }
  const auto now_s = AskTime(*source);
  if (!now_s.ok()) {
    return now_s.status();
  }
  const int64_t window_s = flags.window.window_s;
  const int64_t end_s = window_s >= kDayS ? *now_s / kHourS * kHourS : *now_s;
  UseSamples samples;
  const std::vector<std::pair<const char*, std::vector<SeriesSample>*>>
      queries = {{kModelsQuery, &samples.models},
                 {kClientsQuery, &samples.clients},
                 {kDevicesQuery, &samples.devices},
                 {kBeginQuery, &samples.begin}};
  for (const auto& [query, answer] : queries) {
    auto found = QueryNow(
        *source,
        absl::StrReplaceAll(query, {{"{@}", absl::StrCat("{", *selector, "}")},
                                    {"WINDOW", absl::StrCat(window_s, "s")},
                                    {"END", absl::StrCat(end_s)}}));
    if (!found.ok()) {
      return found.status();
    }
    *answer = *std::move(found);
  }
  if (samples.begin.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        source->url(), ": expected samples of a ferry-server before ",
        TimeText(end_s), ", got none; look back in an hour, or at --from"));
  }
  MeasuredUse use = UseOfSamples(samples, end_s, window_s);
  use.source = absl::StrCat(source->url(), " {", PrintableText(*selector), "}");
  return use;
}

}  // namespace

void AddUseFlags(CLI::App& command, UseFlags& flags) {
  AddFromFlag(command, flags.address);
  AddPrometheusFlags(command, flags.prometheus, flags.window);
}

absl::StatusOr<MeasuredUse> ReadUse(const UseFlags& flags,
                                    const HttpFiles& http) {
  if (flags.address.empty() == flags.prometheus.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one of --from and --from-prometheus, got ",
                     flags.address.empty() ? "none" : "both"));
  }
  return flags.prometheus.empty() ? UseOfServer(flags, http)
                                  : UseInPrometheus(flags, http);
}

absl::StatusOr<MeasuredUse> UseOfPage(absl::string_view page, absl::Time now) {
  if (absl::Status status = CheckPage(page); !status.ok()) {
    return status;
  }
  const std::vector<bench::MetricSample> start = bench::SamplesOf(page, kStart);
  if (start.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected ", kStart, ", got a page without"));
  }
  MeasuredUse use;
  use.begin = absl::UnixEpoch() + absl::Seconds(start.front().value);
  use.end = now;
  if (use.begin >= use.end) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected a server that began before ", TimeText(now),
                     ", the time of this machine, got ", TimeText(use.begin),
                     "; does one of the two clocks go wrong?"));
  }
  SetUse({.models = SeriesOf(page, kBusy),
          .clients = SeriesOf(page, kClientSeconds),
          .devices = SeriesOf(page, kDevice)},
         use);
  return use;
}

MeasuredUse UseOfSamples(const UseSamples& samples, int64_t end_s,
                         int64_t window_s) {
  MeasuredUse use;
  use.begin = absl::FromUnixSeconds(end_s - window_s);
  use.end = absl::FromUnixSeconds(end_s);
  const double first = samples.begin.empty() ? 0 : samples.begin.front().value;
  if (first > static_cast<double>(end_s - window_s + kLookBackS) &&
      first < static_cast<double>(end_s)) {
    const auto first_s = static_cast<int64_t>(first);
    use.begin = absl::FromUnixSeconds(first_s);
    use.shorter =
        absl::StrCat("the series of the server begin at ", TimeText(first_s),
                     ", within the window: what was before is not "
                     "charged");
  }
  SetUse(samples, use);
  return use;
}

}  // namespace ferry::ctl
