// A question of each run, and a sentence for those that cannot answer it.
#include "bench/report/not_measured.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry::bench {
namespace {

constexpr double kShortWindowS = 60;
constexpr size_t kMostNames = 3;

// One run and its details, in parallel.
struct Asked {
  const RunResult& run;
  const std::vector<PointDetails>& details;
};

struct Question {
  const char* what;  // is not known
  bool (*is_answered)(const Asked& asked);
};

template <typename Has>
bool Any(const Asked& asked, Has has) {
  return std::any_of(asked.details.begin(), asked.details.end(), has);
}

template <typename Has>
bool AnyPoint(const Asked& asked, Has has) {
  return std::any_of(asked.run.points.begin(), asked.run.points.end(), has);
}

constexpr Question kQuestions[] = {
    {"hardware: the device is simulated, its times are those of its config",
     [](const Asked& asked) { return !asked.run.is_simulated; }},
    {"a queue that grows: only closed loops were run, which wait for answers "
     "before they send",
     [](const Asked& asked) {
       return AnyPoint(asked, [](const auto& p) { return p.loop == "open"; });
     }},
    {"utilization: the server told no busy ratio",
     [](const Asked& asked) {
       return AnyPoint(asked,
                       [](const auto& p) { return p.busy_ratio.has_value(); });
     }},
    {"saturation: no closed loop was run, so loads have no share of it",
     [](const Asked& asked) {
       return asked.run.saturation_rate > 0 ||
              AnyPoint(asked, [](const auto& p) { return p.loop == "closed"; });
     }},
    {"the device's own counters: utilization, memory, power",
     [](const Asked& asked) {
       return Any(asked, [](const auto& d) { return d.has_device(); });
     }},
    {"where time goes inside the server: queue, copies, compute",
     [](const Asked& asked) {
       return Any(asked, [](const auto& d) { return d.has_times(); });
     }},
    {"how batches were composed: executions by rows of a batch",
     [](const Asked& asked) {
       return Any(asked, [](const auto& d) { return !d.batches.empty(); });
     }},
    {"why batches left the queue",
     [](const Asked& asked) {
       return Any(asked,
                  [](const auto& d) { return !d.close_reasons.empty(); });
     }},
    {"the whole distribution of latency: only some percentiles",
     [](const Asked& asked) {
       return Any(asked, [](const auto& d) { return !d.buckets.empty(); });
     }},
    {"how sure the percentiles are: no 95 % interval",
     [](const Asked& asked) {
       return AnyPoint(
           asked, [](const auto& p) { return p.p99_interval.has_value(); });
     }},
    {"drift over minutes: no window is longer than 60 s",
     [](const Asked& asked) {
       return AnyPoint(
           asked, [](const auto& p) { return p.window_s > kShortWindowS; });
     }},
    {"a network: client and server share a machine",
     [](const Asked& asked) {
       return !absl::StartsWith(asked.run.address, "127.") &&
              !absl::StartsWith(asked.run.address, "localhost") &&
              !absl::StartsWith(asked.run.address, "[::1]");
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
                                     const Details& details, bool has_price) {
  static const std::vector<PointDetails> nothing;
  std::vector<std::string> sentences;
  for (const Question& question : kQuestions) {
    std::vector<std::string> labels;
    for (size_t i = 0; i < runs.size(); ++i) {
      const Asked asked = {runs[i], i < details.size() ? details[i] : nothing};
      if (!question.is_answered(asked)) {
        labels.push_back(runs[i].label);
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
