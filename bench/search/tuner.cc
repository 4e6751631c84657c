// Implements Tuner: a race, and its winner against what was there before.
#include "bench/search/tuner.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace ferry::bench {

absl::StatusOr<std::optional<TunedSetting>> Tuner::Race(
    const std::vector<RuntimeSetting>& settings, TuneResult& result) {
  std::optional<TunedSetting> best;
  for (const RuntimeSetting& setting : settings) {
    if (absl::Status status = turn_(setting); !status.ok()) {
      return status;
    }
    TunedSetting tried = {.setting = setting, .rate = std::nullopt};
    if (best.has_value()) {
      tried.above = *best->rate * precision_.worthwhile();
      tried.rate = measure_(Search::kOnlyAbove, tried.above);
    } else {
      tried.rate = measure_(Search::kCoarse, 0);
    }
    if (is_stopped_()) {
      return best;  // it was cut short
    }
    result.tried.push_back(tried);
    if (tried.rate.has_value() && *tried.rate >= tried.above) {
      best = tried;
    }
  }
  return best;
}

absl::Status Tuner::Run(const std::vector<RuntimeSetting>& settings,
                        TuneResult& result) {
  const auto best = Race(settings, result);
  if (!best.ok()) {
    return best.status();
  }
  if (!best->has_value() || is_stopped_()) {
    return absl::OkStatus();
  }
  std::vector<TunedSetting> finalists = {**best};
  const TunedSetting& own = result.tried.front();
  if (own.rate.has_value() && !(own.setting == (*best)->setting)) {
    finalists.insert(finalists.begin(), own);
  }
  if (absl::Status status = confirm_(finalists); !status.ok()) {
    return status;
  }
  if (is_stopped_()) {
    return absl::OkStatus();
  }
  TunedSetting& first = finalists.front();
  TunedSetting& last = finalists.back();
  const bool is_last = last.rate.has_value() &&
                       (!first.rate.has_value() || finalists.size() == 1 ||
                        *last.rate > *first.rate * precision_.difference());
  TunedSetting& kept = is_last ? last : first;
  if (kept.rate.has_value()) {
    result.best = kept;
    if (finalists.size() > 1) {
      result.other = is_last ? first : last;
    }
  }
  return absl::OkStatus();
}

std::string DescribeAnswer(const TuneResult& result,
                           const TunePrecision& precision,
                           const std::string& bound) {
  const TunedSetting& best = *result.best;
  const TunedSetting& own = result.tried.front();
  const std::string said = absl::StrFormat(
      "%.0f requests/s with %s: %s", *best.rate, bound, Describe(best.setting));
  if (!(best.setting == own.setting)) {
    return result.other.has_value() && result.other->rate.has_value()
               ? absl::StrFormat(
                     "%s; as it was, %s, %.0f: %.2f times, confirmed in turns",
                     said, Describe(own.setting), *result.other->rate,
                     *best.rate / *result.other->rate)
               : absl::StrFormat("%s; as it was, %s, none was confirmed", said,
                                 Describe(own.setting));
  }
  if (!result.other.has_value()) {
    return absl::StrFormat(
        "%s, as it was. No difference: none of the others carried %.0f %% more",
        said, (precision.worthwhile() - 1) * 100);
  }
  return absl::StrFormat(
      "%s, as it was. No difference: in turns with it %s carried %s, and "
      "less than %.0f %% more cannot be told",
      said, Describe(result.other->setting),
      result.other->rate.has_value()
          ? absl::StrFormat("%.0f", *result.other->rate)
          : "no rate that was confirmed",
      (precision.difference() - 1) * 100);
}

}  // namespace ferry::bench
