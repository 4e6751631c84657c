// Implements SloSearch: its three stages, and the tries that are left.
#include "bench/search/slo_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace ferry::bench {

std::optional<SloSearch::Try> SloSearch::Next() const {
  if (found().has_value() || tries_ == options_.max_tries ||
      late_rates_ == kMostLateRates) {
    return std::nullopt;
  }
  if (candidate_ > 0) {
    if (candidate_ < options_.first_rate * kLeastShare) {
      return std::nullopt;
    }
    return Try{candidate_, Stage::kConfirm};
  }
  if (is_bracketed()) {
    return Try{std::sqrt(met_ * missed_), Stage::kBisect};
  }
  if (met_ > 0) {
    return Try{met_ * options_.growth, Stage::kBracket};
  }
  const double rate =
      missed_ > 0 ? missed_ / options_.growth : options_.first_rate;
  if (rate < options_.first_rate * kLeastShare) {
    return std::nullopt;
  }
  return Try{rate, Stage::kBracket};
}

void SloSearch::Report(bool met) {
  const std::optional<Try> tried = Next();
  Check(tried.has_value(), "there was something to try");
  ++tries_;
  late_rates_ = 0;
  if (tried->stage == Stage::kConfirm) {
    has_missed_once_ = false;
    confirmed_ = met ? confirmed_ + 1 : 0;
    candidate_ = met ? candidate_ : candidate_ * (1 - StepOf(options_));
    return;
  }
  if (!met && !IsConfirmed()) {
    return;
  }
  has_missed_once_ = false;
  (met ? met_ : missed_) = tried->rate;
  if (is_narrow()) {
    candidate_ = met_;
  }
}

void SloSearch::ReportDoubt() {
  if (candidate_ == 0 || IsConfirmed()) {
    Report(false);  // which doubts for itself before the confirmation
    return;
  }
  ++tries_;
}

void SloSearch::ReportCeiling() {
  const int32_t late = late_rates_ + (has_missed_once_ ? 1 : 0);
  LowerRate();
  late_rates_ = late;
}

void SloSearch::LowerRate() {
  if (met_ == 0) {
    Report(false);
    return;
  }
  const bool is_confirmed = IsConfirmed();
  if (candidate_ > 0 && is_confirmed) {
    Report(false);
    return;
  }
  ++tries_;
  if (is_confirmed) {
    candidate_ = met_;
  }
}

bool SloSearch::IsConfirmed() {
  return std::exchange(has_missed_once_, !has_missed_once_);
}

SloSearch::Left SloSearch::TriesLeft() const {
  if (!Next().has_value()) {
    return {};
  }
  Left left = {.confirming = options_.confirmations - confirmed_};
  if (candidate_ == 0) {
    // One that meets and a miss, which comes twice, bracket it; half of those
    // that bisect miss; one confirmation steps down.
    const double width =
        is_bracketed() ? std::log(missed_ / met_) : std::log(options_.growth);
    const double halvings = std::log2(width / std::log1p(StepOf(options_)));
    const int bracket = is_bracketed() ? 0 : met_ > 0 ? 2 : 3;
    left.narrowing = bracket + static_cast<int32_t>(
                                   std::ceil(1.5 * std::max(halvings, 0.0)));
    ++left.confirming;
  }
  const int32_t most = options_.max_tries - tries_;
  left.narrowing = std::min(left.narrowing, most);
  left.confirming = std::min(left.confirming, most - left.narrowing);
  return left;
}

int32_t SloSearch::UsualTries(const SloSearchOptions& options) {
  const Left left = SloSearch(options).TriesLeft();
  return left.narrowing + left.confirming;
}

std::optional<double> SloSearch::found() const {
  return candidate_ > 0 && confirmed_ == options_.confirmations
             ? std::optional(candidate_)
             : std::nullopt;
}

}  // namespace ferry::bench
