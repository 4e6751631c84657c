// Counters by ModelStatistics and by an HTTP GET of /metrics.
#include "bench/client/server_probe.h"

#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferry::bench {
namespace {

constexpr absl::string_view kBusyMetric = "ferry_compute_busy_seconds_total";
constexpr absl::string_view kClosedMetric = "ferry_batches_closed_total";

// One sample of a page of Prometheus text.
struct Sample {
  std::vector<absl::string_view> labels;  // each as name="value"
  double value = 0;
};

// Returns the samples of that metric and model.
std::vector<Sample> SamplesOf(absl::string_view page, absl::string_view metric,
                              absl::string_view model) {
  const std::string wanted = absl::StrCat("model=\"", model, "\"");
  std::vector<Sample> samples;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::ConsumePrefix(&line, metric) ||
        !absl::ConsumePrefix(&line, "{")) {
      continue;
    }
    const size_t end = line.rfind('}');
    if (end == absl::string_view::npos) {
      continue;
    }
    Sample sample;
    sample.labels = absl::StrSplit(line.substr(0, end), ',');
    const std::vector<absl::string_view> values =
        absl::StrSplit(line.substr(end + 1), ' ', absl::SkipEmpty());
    if (!values.empty() && absl::SimpleAtod(values[0], &sample.value) &&
        std::find(sample.labels.begin(), sample.labels.end(), wanted) !=
            sample.labels.end()) {
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

// Returns the mean of the requests between the two, in microseconds.
double MeanUs(const RequestTime& begin, const RequestTime& end) {
  const uint64_t count = end.count - begin.count;
  return count == 0 ? 0
                    : static_cast<double>(end.ns - begin.ns) /
                          static_cast<double>(count) / 1e3;
}

// Returns the counts that grew, by how much.
template <typename Key>
std::map<Key, uint64_t> Grown(const std::map<Key, uint64_t>& begin,
                              const std::map<Key, uint64_t>& end) {
  std::map<Key, uint64_t> grown;
  for (const auto& [key, count] : end) {
    const auto before = begin.find(key);
    const uint64_t had = before == begin.end() ? 0 : before->second;
    if (count > had) {
      grown[key] = count - had;
    }
  }
  return grown;
}

void Add(const inference::StatisticDuration& from, RequestTime& to) {
  to.count += from.count();
  to.ns += from.ns();
}

void AddStatistics(const inference::ModelStatistics& model,
                   ServerCounters& counters) {
  counters.rows += model.inference_count();
  counters.executions += model.execution_count();
  Add(model.inference_stats().queue(), counters.queue);
  Add(model.inference_stats().compute_input(), counters.compute_input);
  Add(model.inference_stats().compute_infer(), counters.compute_infer);
  Add(model.inference_stats().compute_output(), counters.compute_output);
  for (const auto& batch : model.batch_stats()) {
    counters.compute_ns += batch.compute_infer().ns();
    counters.batches[batch.batch_size()] += batch.compute_infer().count();
  }
}

// Of ModelStatistics.
void TakeStatistics(const ServerCounters& begin, const ServerCounters& end,
                    double lane_seconds, ServerWindow& window) {
  const auto executions =
      static_cast<double>(end.executions - begin.executions);
  if (executions > 0) {
    window.mean_rows = static_cast<double>(end.rows - begin.rows) / executions;
  }
  window.busy_ratio = static_cast<double>(end.compute_ns - begin.compute_ns) /
                      1e9 / lane_seconds;
  window.busy_source = "ModelStatistics";
  window.batches = Grown(begin.batches, end.batches);
  if (end.queue.count > begin.queue.count) {
    window.times = {MeanUs(begin.queue, end.queue),
                    MeanUs(begin.compute_input, end.compute_input),
                    MeanUs(begin.compute_infer, end.compute_infer),
                    MeanUs(begin.compute_output, end.compute_output)};
  }
}

}  // namespace

std::optional<BusySeconds> ParseBusySeconds(absl::string_view page,
                                            absl::string_view model) {
  BusySeconds sum;
  for (const Sample& sample : SamplesOf(page, kBusyMetric, model)) {
    sum.seconds += sample.value;
    ++sum.lanes;
  }
  return sum.lanes == 0 ? std::nullopt : std::optional(sum);
}

CloseReasons ParseCloseReasons(absl::string_view page,
                               absl::string_view model) {
  CloseReasons reasons;
  for (const Sample& sample : SamplesOf(page, kClosedMetric, model)) {
    for (absl::string_view label : sample.labels) {
      if (absl::ConsumePrefix(&label, "reason=\"") &&
          absl::ConsumeSuffix(&label, "\"") && sample.value >= 0) {
        reasons[std::string(label)] += static_cast<uint64_t>(sample.value);
      }
    }
  }
  return reasons;
}

ServerWindow Difference(const ServerCounters& begin, const ServerCounters& end,
                        int32_t lanes) {
  ServerWindow window;
  const double wall_s =
      std::chrono::duration<double>(end.at - begin.at).count();
  const bool has_statistics = begin.has_statistics && end.has_statistics;
  if (wall_s <= 0 || (has_statistics && (end.executions < begin.executions ||
                                         end.compute_ns < begin.compute_ns))) {
    return window;
  }
  if (has_statistics) {
    TakeStatistics(begin, end, wall_s * lanes, window);
  }
  if (begin.busy.has_value() && end.busy.has_value() &&
      end.busy->seconds >= begin.busy->seconds) {
    window.busy_ratio =
        (end.busy->seconds - begin.busy->seconds) / wall_s / end.busy->lanes;
    window.busy_source = "metrics";
    window.closed = Grown(begin.closed, end.closed);
  }
  return window;
}

ServerProbe::ServerProbe(const ModelClient& client, bool has_statistics,
                         std::string metrics_address)
    : client_(client),
      has_statistics_(has_statistics),
      metrics_address_(std::move(metrics_address)) {}

ServerCounters ServerProbe::Read() const {
  ServerCounters counters;
  if (!metrics_address_.empty()) {
    httplib::Client http("http://" + metrics_address_);
    http.set_connection_timeout(1);
    http.set_read_timeout(2);
    const httplib::Result page = http.Get("/metrics");
    if (page && page->status == 200) {
      counters.busy = ParseBusySeconds(page->body, client_.model());
      counters.closed = ParseCloseReasons(page->body, client_.model());
    }
  }
  if (has_statistics_) {
    const auto reply = client_.Statistics();
    counters.has_statistics = reply.ok();
    if (reply.ok()) {
      for (const auto& model : reply->model_stats()) {
        AddStatistics(model, counters);
      }
    }
  }
  counters.at = Clock::Steady().Now();
  return counters;
}

}  // namespace ferry::bench
