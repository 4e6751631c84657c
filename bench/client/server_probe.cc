// Counters by ModelStatistics and by an HTTP GET of /metrics.
#include "bench/client/server_probe.h"

#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferry::bench {
namespace {

constexpr absl::string_view kBusyMetric = "ferry_compute_busy_seconds_total";

}  // namespace

std::optional<BusySeconds> ParseBusySeconds(absl::string_view page,
                                            absl::string_view model) {
  const std::string wanted = absl::StrCat("model=\"", model, "\"");
  BusySeconds sum;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::ConsumePrefix(&line, kBusyMetric) ||
        !absl::ConsumePrefix(&line, "{")) {
      continue;
    }
    const size_t end = line.rfind('}');
    if (end == absl::string_view::npos) {
      continue;
    }
    const std::vector<absl::string_view> labels =
        absl::StrSplit(line.substr(0, end), ',');
    const std::vector<absl::string_view> values =
        absl::StrSplit(line.substr(end + 1), ' ', absl::SkipEmpty());
    double seconds = 0;
    if (values.empty() || !absl::SimpleAtod(values[0], &seconds) ||
        std::find(labels.begin(), labels.end(), wanted) == labels.end()) {
      continue;
    }
    sum.seconds += seconds;
    ++sum.lanes;
  }
  return sum.lanes == 0 ? std::nullopt : std::optional(sum);
}

ServerWindow Difference(const ServerCounters& begin, const ServerCounters& end,
                        int32_t lanes) {
  ServerWindow window;
  const double wall_s =
      std::chrono::duration<double>(end.at - begin.at).count();
  if (wall_s <= 0) {
    return window;
  }
  if (begin.has_statistics && end.has_statistics) {
    const auto executions =
        static_cast<double>(end.executions - begin.executions);
    if (executions > 0) {
      window.mean_rows =
          static_cast<double>(end.rows - begin.rows) / executions;
    }
    window.busy_ratio = static_cast<double>(end.compute_ns - begin.compute_ns) /
                        1e9 / wall_s / lanes;
    window.busy_source = "ModelStatistics";
  }
  if (begin.busy.has_value() && end.busy.has_value()) {
    window.busy_ratio =
        (end.busy->seconds - begin.busy->seconds) / wall_s / end.busy->lanes;
    window.busy_source = "metrics";
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
    }
  }
  if (has_statistics_) {
    const auto reply = client_.Statistics();
    counters.has_statistics = reply.ok();
    if (reply.ok()) {
      for (const auto& model : reply->model_stats()) {
        counters.rows += model.inference_count();
        counters.executions += model.execution_count();
        for (const auto& batch : model.batch_stats()) {
          counters.compute_ns += batch.compute_infer().ns();
        }
      }
    }
  }
  counters.at = Clock::Steady().Now();
  return counters;
}

}  // namespace ferry::bench
