// A race, and the winner's confirmation.
#include "bench/search/tuner.h"

#include <utility>

namespace ferry::bench {

absl::Status Tuner::Run(const std::vector<KnobSetting>& settings,
                        TuneResult& result) {
  std::optional<TunedSetting> best;
  for (const KnobSetting& setting : settings) {
    if (absl::Status status = turn_(setting); !status.ok()) {
      return status;
    }
    TunedSetting tried = {.setting = setting, .rate = std::nullopt};
    if (best.has_value()) {
      tried.above = *best->rate * kWorthwhile;
      tried.rate = measure_(Search::kOnlyAbove, tried.above);
    } else {
      tried.rate = measure_(Search::kCoarse, 0);
    }
    if (is_stopped_()) {
      return absl::OkStatus();  // it was cut short
    }
    result.tried.push_back(tried);
    if (tried.rate.has_value() && *tried.rate >= tried.above) {
      best = tried;
    }
  }
  if (!best.has_value() || is_stopped_()) {
    return absl::OkStatus();
  }
  if (absl::Status status = turn_(best->setting); !status.ok()) {
    return status;
  }
  best->rate = measure_(Search::kConfirmed, *best->rate);
  if (best->rate.has_value()) {
    result.best = best;
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench
