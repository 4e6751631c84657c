// Implements NotMeasured(): asks each run a list of questions, and writes a
// sentence for those that cannot answer one.
#include "bench/report/not_measured.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/report/utilization.h"

namespace ferry::bench {
namespace {

constexpr double kShortWindowS = 60;
constexpr size_t kMostNames = 3;

struct Question {
  const char* what;  // is not known
  bool (*is_answered)(const RunResult& run);
};

template <typename Has>
bool Any(const RunResult& run, Has has) {
  return std::any_of(run.points.begin(), run.points.end(), has);
}

bool Tells(const RunResult& run, std::optional<double> DeviceSummary::*value) {
  return Any(run, [value](const PointResult& point) {
    return point.device.has_value() && ((*point.device).*value).has_value();
  });
}

bool HasCounters(const RunResult& run) {
  return Tells(run, &DeviceSummary::utilization) ||
         Tells(run, &DeviceSummary::memory_used_bytes) ||
         Tells(run, &DeviceSummary::power_w);
}

bool IsOfSlice(const RunResult& run) {
  const auto& device = run.environment.device;
  return device.has_value() && device->device.is_slice();
}

bool HasLoop(const RunResult& run, const char* loop) {
  return Any(run, [loop](const auto& point) { return point.loop == loop; });
}

bool HasOnlyClosedLoops(const RunResult& run) {
  return !run.points.empty() &&
         std::all_of(run.points.begin(), run.points.end(),
                     [](const auto& point) { return point.loop == "closed"; });
}

constexpr Question kQuestions[] = {
    {"hardware: the device is simulated, its times are those of its config",
     [](const RunResult& run) { return !run.is_simulated; }},
    {"the model's config, as rows of a batch at most, instances, and whether "
     "its "
     "device is simulated: the server has no ModelConfig",
     [](const RunResult& run) { return run.has_config; }},
    {"a queue that grows: only closed loops were run, which wait for answers "
     "before they send",
     [](const RunResult& run) { return !HasOnlyClosedLoops(run); }},
    {"latency at a rate: no open loop was run",
     [](const RunResult& run) {
       return HasLoop(run, "open") || HasOnlyClosedLoops(run);
     }},
    {"how busy its instances were: the server told no busy ratio",
     [](const RunResult& run) {
       return Any(
           run, [](const auto& point) { return point.busy_ratio.has_value(); });
     }},
    {"utilization: no closed loop was run and no search found a rate, so "
     "loads have no share of the saturation",
     [](const RunResult& run) { return SaturationOf(run).has_value(); }},
    {"the device's own counters, utilization, memory and power: neither the "
     "server's metrics (--metrics) nor NVML (--nvml) told any",
     [](const RunResult& run) { return HasCounters(run); }},
    {"the device's utilization: its counters told none",
     [](const RunResult& run) {
       return !HasCounters(run) || Tells(run, &DeviceSummary::utilization);
     }},
    {"the device's memory in use: its counters told none",
     [](const RunResult& run) {
       return !HasCounters(run) ||
              Tells(run, &DeviceSummary::memory_used_bytes);
     }},
    {"the device's power: its counters told none",
     [](const RunResult& run) {
       return !HasCounters(run) || Tells(run, &DeviceSummary::power_w);
     }},
    {"the power of the slice alone: what was told is its whole GPU's",
     [](const RunResult& run) {
       return !IsOfSlice(run) || !Tells(run, &DeviceSummary::power_w);
     }},
    {"where time goes inside the server: queue, copies, compute; of a mix of "
     "models no server tells it of all",
     [](const RunResult& run) {
       return Any(run, [](const auto& point) {
         return point.server_times.has_value();
       });
     }},
    {"how batches were composed: executions by rows of a batch",
     [](const RunResult& run) {
       return Any(run,
                  [](const auto& point) { return !point.batches.empty(); });
     }},
    {"why batches left the queue",
     [](const RunResult& run) {
       return Any(run, [](const auto& point) { return !point.closed.empty(); });
     }},
    {"the whole distribution of latency: only some percentiles",
     [](const RunResult& run) {
       return Any(run, [](const auto& point) {
         return point.histograms.latency.count > 0;
       });
     }},
    {"how sure p99 is: its 95 % interval takes ten batches of 1,000 requests "
     "and of ten times p99, which no window held",
     [](const RunResult& run) {
       return Any(run, [](const auto& point) {
         return point.p99_interval.has_value();
       });
     }},
    {"drift over minutes: no window is longer than 60 s",
     [](const RunResult& run) {
       return Any(run, [](const auto& point) {
         return point.window_s > kShortWindowS;
       });
     }},
    {"a network: client and server share a machine",
     [](const RunResult& run) {
       return !absl::StartsWith(run.address, "127.") &&
              !absl::StartsWith(run.address, "localhost") &&
              !absl::StartsWith(run.address, "[::1]");
     }},
};

// "(of 'a', 'b')" where it is not of all runs.
std::string OfWhich(const std::vector<std::string>& labels, size_t runs) {
  if (labels.size() == runs) {
    return "";
  }
  if (labels.size() > kMostNames) {
    return absl::StrCat(" (of ", labels.size(), " of ", runs, " runs)");
  }
  return absl::StrCat(" (of '", absl::StrJoin(labels, "', '"), "')");
}

}  // namespace

std::vector<std::string> NotMeasured(const std::vector<RunResult>& runs,
                                     bool has_price) {
  std::vector<std::string> sentences;
  for (const Question& question : kQuestions) {
    std::vector<std::string> labels;
    for (const RunResult& run : runs) {
      if (!question.is_answered(run)) {
        labels.push_back(run.label);
      }
    }
    if (!labels.empty()) {
      sentences.push_back(
          absl::StrCat(question.what, OfWhich(labels, runs.size())));
    }
  }
  if (!has_price) {
    sentences.push_back(
        "money: no price was given (ferry-bench report --prices FILE --device "
        "NAME)");
  }
  return sentences;
}

}  // namespace ferry::bench
