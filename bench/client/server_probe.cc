// Implements ServerProbe: reads ModelStatistics, and /metrics by an HTTP GET.
#include "bench/client/server_probe.h"

#include <utility>

#include "bench/device/metrics_page.h"

namespace ferry::bench {
namespace {

void Add(const inference::StatisticDuration& from, RequestTime& to) {
  to.count += from.count();
  to.ns += from.ns();
}

// Between asking and having the answer: the server counted in between.
TimePoint Middle(TimePoint asked) {
  return asked + (Clock::Steady().Now() - asked) / 2;
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

}  // namespace

ServerProbe::ServerProbe(const ModelClient& client, bool has_statistics,
                         std::string metrics_address, DeviceSource* device)
    : client_(client),
      has_statistics_(has_statistics),
      metrics_address_(std::move(metrics_address)),
      device_(device) {}

ServerCounters ServerProbe::Read() const {
  ServerCounters counters;
  if (!metrics_address_.empty()) {
    const TimePoint asked = Clock::Steady().Now();
    if (const auto page = FetchMetrics(metrics_address_); page.ok()) {
      counters.busy = ParseBusySeconds(*page, client_.model());
      counters.metrics_at = Middle(asked);
      counters.closed = ParseCloseReasons(*page, client_.model());
    }
  }
  if (has_statistics_) {
    const TimePoint asked = Clock::Steady().Now();
    const auto reply = client_.Statistics();
    counters.statistics_at = Middle(asked);
    counters.has_statistics = reply.ok();
    if (reply.ok()) {
      for (const auto& model : reply->model_stats()) {
        AddStatistics(model, counters);
      }
    }
  }
  return counters;
}

}  // namespace ferry::bench
