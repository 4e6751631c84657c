// Implements RecordFromPrometheus(): the queries, and which server they are of.
#include "deploy/ctl/prometheus_recording.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/printable_text.h"
#include "deploy/ctl/time_text.h"

namespace ferry::ctl {
namespace {

using plan::Signal;

constexpr int64_t kLeastChosenStepS = 60;
constexpr size_t kMostListed = 10;  // servers in a message
constexpr size_t kMaxShown = 100;   // bytes of a label in a message

constexpr int64_t kRatePeriods = 2;

// @ stands for the labels of the server, STEP for a step or the window, RATE
// for kRatePeriods of these, PART for PartOf() it.
//
// How many servers were there at once, of each job and instance; all of them.
constexpr char kServersQuery[] =
    "max_over_time(count by (job, instance) (ferry_ready{@})[STEP:PART])";
constexpr char kLabelsQuery[] =
    "group without (__name__) (last_over_time(ferry_ready{@}[STEP]))";
// Each server shows one ferry_ready a scrape: the mean over scrapes of a sum
// over models, also where a version gave way to the next within the step.
constexpr char kLoadQuery[] =
    "sum(sum_over_time(ferry_load_ratio{@}[STEP]))"
    " / sum(count_over_time(ferry_ready{@}[STEP]))";
constexpr char kBusyQuery[] =
    "sum(rate(ferry_compute_busy_seconds_total{@}[RATE]))"
    " / (sum(sum_over_time(ferry_instances{@}[RATE]))"
    " / sum(count_over_time(ferry_ready{@}[RATE])))";
constexpr char kSmQuery[] = "avg(avg_over_time(ferry_gpm_sm_ratio{@}[STEP]))";
constexpr char kMemoryQuery[] =
    "max(max_over_time(ferry_device_memory_bytes{kind=\"used\",@}[STEP])"
    " / ignoring (kind)"
    " max_over_time(ferry_device_memory_bytes{kind=\"total\",@}[STEP]))";
// Processes on slices of one GPU all show its watts.
constexpr char kPowerQuery[] =
    "max(avg_over_time(ferry_gpu_power_watts{@}[STEP]))";
constexpr char kDramQuery[] =
    "avg(avg_over_time(ferry_gpm_dram_ratio{@}[STEP]))";
constexpr char kPcieQuery[] =
    "avg(avg_over_time(ferry_gpm_pcie_bytes_per_second{"
    "direction=\"received\",@}[STEP])) / LINK";
constexpr char kBatchFillQuery[] =
    "sum(rate(ferry_batch_rows_sum{@}[RATE]))"
    " / sum(rate(ferry_batch_rows_count{@}[RATE])"
    " * avg_over_time(ferry_max_batch_size_rows{@}[RATE]))";
constexpr char kStageQuery[] =
    "sum(rate(ferry_stage_seconds_sum{@}[RATE]))"
    " / (sum(rate(ferry_stage_seconds_sum{@}[RATE]))"
    " + sum(rate(ferry_compute_seconds_sum{@}[RATE])))";
// Few models pad elements.
constexpr char kPaddingQuery[] =
    "1 - sum(rate(ferry_rows_total{@}[RATE]))"
    " / (sum(rate(ferry_rows_total{@}[RATE]))"
    " + sum(rate(ferry_padding_rows_total{@}[RATE])))"
    " * (1 - ((sum(rate(ferry_padding_elements_total{@}[RATE])) > 0)"
    " / (sum(rate(ferry_input_elements_total{@}[RATE]))"
    " + sum(rate(ferry_padding_elements_total{@}[RATE]))) or vector(0)))";
constexpr char kRefusedQuery[] =
    "(sum(rate(ferry_refused_total{reason=~\"queue_.*|client_share\",@}[RATE]))"
    " or vector(0)) / (sum(rate(ferry_requests_total{@}[RATE]))"
    " + sum(rate(ferry_refused_total{@}[RATE])))";
constexpr char kUnderWayQuery[] =
    "sum(rate(ferry_request_seconds_sum{@}[RATE]))";
constexpr char kRequestsQuery[] =
    "sum(rate(ferry_requests_total{@}[RATE]))"
    " + sum(rate(ferry_refused_total{@}[RATE]))";

// How far apart moments of a step are at which servers are counted.
int64_t PartOf(int64_t step_s) {
  return std::clamp<int64_t>(step_s / 10, 1, 300);
}

std::string QueryText(const std::string& query, const std::string& selector,
                      int64_t step_s) {
  return absl::StrReplaceAll(
      query, {{"@", selector},
              {"STEP", absl::StrCat(step_s, "s")},
              {"RATE", absl::StrCat(kRatePeriods * step_s, "s")},
              {"PART", absl::StrCat(PartOf(step_s), "s")}});
}

bool IsLabelName(const std::string& name) {
  const auto is_part = [](unsigned char letter) {
    return absl::ascii_isalnum(letter) || letter == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_part) &&
         !(name.front() >= '0' && name.front() <= '9');
}

// Returns a matcher of PromQL: instance="10.0.0.3:8002".
std::string Matcher(const std::string& name, const std::string& value) {
  return absl::StrCat(
      name, "=\"",
      absl::StrReplaceAll(value,
                          {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"");
}

std::string Listed(const std::vector<SeriesSample>& servers) {
  std::set<std::string> listed;
  for (const SeriesSample& server : servers) {
    if (listed.size() == kMostListed) {
      break;
    }
    listed.insert(absl::StrJoin(
        server.labels, " ", [](std::string* out, const auto& label) {
          absl::StrAppend(out, label.first, "=",
                          PrintableText(label.second, kMaxShown));
        }));
  }
  return absl::StrCat(absl::StrJoin(listed, ", "),
                      servers.size() > kMostListed ? ", ..." : "");
}

// Says which servers there are, of which a label is to leave one.
absl::Status SeveralServers(const HttpSource& source,
                            const std::string& selector, int64_t window_s) {
  const auto servers =
      QueryNow(source, QueryText(kLabelsQuery, selector, window_s));
  if (!servers.ok()) {
    return servers.status();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--label: expected labels that leave one server, as "
                   "instance=HOST:PORT, got ",
                   servers->size(), ": ", Listed(*servers)));
}

}  // namespace

absl::StatusOr<TimeRange> RangeOf(const PrometheusWindow& window,
                                  int64_t now_s) {
  constexpr auto kMost = static_cast<int64_t>(kMostSteps);
  // The fewest minutes that keep to the limit, of those that an hour is a whole
  // number of.
  int64_t chosen_s = kLeastChosenStepS;
  while (chosen_s < kHourS &&
         (window.window_s > kMost * chosen_s || kHourS % chosen_s != 0)) {
    chosen_s += kLeastChosenStepS;
  }
  const int64_t step_s = window.step_s.value_or(chosen_s);
  const int64_t steps = window.window_s / step_s;
  if (steps < 1 || steps > kMost || kHourS % step_s != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--step: expected steps that an hour is a whole number of, 1 to ",
        kMost, " in the window, as Prometheus answers no more, got ", steps,
        " of ", step_s, "s; ", chosen_s, "s do"));
  }
  const int64_t unit_s = window.window_s >= kDayS ? kHourS : step_s;
  const int64_t end_s = now_s / unit_s * unit_s;
  return TimeRange{.begin_s = end_s - (steps - 1) * step_s,
                   .step_s = step_s,
                   .steps = static_cast<size_t>(steps)};
}

absl::StatusOr<std::string> SelectorOf(const std::vector<std::string>& labels) {
  std::vector<std::string> matchers;
  for (const std::string& label : labels) {
    const size_t at = label.find('=');
    const std::string name = label.substr(0, at);
    if (at == std::string::npos || !IsLabelName(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--label: expected NAME=VALUE, as instance=HOST:PORT, got '",
          PrintableText(label, kMaxShown), "'"));
    }
    matchers.push_back(Matcher(name, label.substr(at + 1)));
  }
  return absl::StrJoin(matchers, ",");
}

absl::StatusOr<std::string> FindServer(const HttpSource& source,
                                       const PrometheusWindow& window) {
  const auto wanted = SelectorOf(window.labels);
  if (!wanted.ok()) {
    return wanted.status();
  }
  const std::string& selector = *wanted;
  const auto servers =
      QueryNow(source, QueryText(kServersQuery, selector, window.window_s));
  if (!servers.ok()) {
    return servers.status();
  }
  if (servers->empty()) {
    return absl::NotFoundError(absl::StrCat(
        source.url(), ": expected series of a ferry-server",
        selector.empty() ? "" : " with ", PrintableText(selector, kMaxShown),
        ", got none in the window; does this Prometheus scrape its /metrics?"));
  }
  if (servers->size() > 1 || servers->front().value > 1) {
    return SeveralServers(source, selector, window.window_s);
  }
  return absl::StrCat(selector, selector.empty() ? "" : ",",
                      Matcher("job", servers->front().Label("job")), ",",
                      Matcher("instance", servers->front().Label("instance")));
}

absl::StatusOr<NamedRecording> RecordFromPrometheus(
    const HttpSource& source, const PrometheusWindow& window,
    const DeviceLink& link) {
  // Flags that are wrong are told before anything is asked.
  if (const auto wanted = SelectorOf(window.labels); !wanted.ok()) {
    return wanted.status();
  }
  if (const auto range = RangeOf(window, 0); !range.ok()) {
    return range.status();
  }
  const auto now_s = AskTime(source);
  if (!now_s.ok()) {
    return now_s.status();
  }
  const auto range = RangeOf(window, *now_s);
  if (!range.ok()) {
    return range.status();
  }
  const auto selector = FindServer(source, window);
  if (!selector.ok()) {
    return selector.status();
  }
  plan::Recording recording;
  recording.period_s = static_cast<double>(range->step_s);
  recording.size = range->steps;
  recording.rate_periods = static_cast<size_t>(kRatePeriods);
  std::vector<std::pair<std::string, plan::Samples*>> columns = {
      {kLoadQuery, &recording.signals[Signal::kLoad]},
      {kBusyQuery, &recording.signals[Signal::kBusy]},
      {kSmQuery, &recording.signals[Signal::kSm]},
      {kMemoryQuery, &recording.signals[Signal::kMemory]},
      {kPowerQuery, &recording.power_w},
      {kDramQuery, &recording.signals[Signal::kDram]},
      {kBatchFillQuery, &recording.signals[Signal::kBatchFill]},
      {kStageQuery, &recording.signals[Signal::kStage]},
      {kPaddingQuery, &recording.signals[Signal::kPadding]},
      {kRefusedQuery, &recording.signals[Signal::kRefused]},
      {kRequestsQuery, &recording.requests_per_second},
      {kUnderWayQuery, &recording.requests_under_way}};
  if (link.bytes_per_second > 0) {
    columns.emplace_back(
        absl::StrReplaceAll(kPcieQuery,
                            {{"LINK", absl::StrCat(link.bytes_per_second)}}),
        &recording.signals[Signal::kPcie]);
  }
  for (const auto& [query, column] : columns) {
    auto samples =
        QueryRange(source, QueryText(query, *selector, range->step_s), *range);
    if (!samples.ok()) {
      return samples.status();
    }
    *column = *std::move(samples);
  }
  const std::string name =
      absl::StrCat(source.url(), " {", PrintableText(*selector), "}, ",
                   TimeText(range->begin_s - range->step_s), " to ",
                   TimeText(range->end_s()));
  if (absl::Status status = plan::LeaveOutUnknown(recording, name);
      !status.ok()) {
    return status;
  }
  return NamedRecording{.recording = std::move(recording), .source = name};
}

}  // namespace ferry::ctl
