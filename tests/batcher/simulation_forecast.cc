// Implements ForecastBounds, and checks of calls refused, dropped or let in.
#include "tests/batcher/simulation_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "batcher/internal/batch_planner.h"
#include "batcher/internal/wait_estimate.h"
#include "tests/batcher/simulation.h"

namespace ferry {
namespace {

constexpr int32_t kLeastShare = 100;  // 1 / of the time, of any level
// A batch and three deviations of it, which are as long at most; and far fewer
// of the slowest there was, where nothing has to be told of other sizes.
constexpr int32_t kWithDeviations = 4;
constexpr int32_t kSlowestWithDeviations = 8;

}  // namespace

ForecastBounds::ForecastBounds(const SteppedSchedulerOptions& options)
    : max_rows_(options.scheduler.max_batch_size),
      instances_(options.instances.count),
      max_in_flight_(options.instances.max_in_flight),
      has_levels_(options.scheduler.levels.size() > 1) {}

void ForecastBounds::Computed(int32_t rows, Duration took) {
  full_ = std::max(full_, took * max_rows_ / rows);
  slowest_ = std::max(slowest_, took);
  fastest_ = has_times_ ? std::min(fastest_, took) : took;
  has_times_ = true;
}

void ForecastBounds::Stepped(int32_t computing) { computing_ = computing; }

bool ForecastBounds::IsForecastValid(TimePoint now) const {
  return has_times_ &&
         now <= last_start_ + WaitEstimate::kValid + 8 * LongestBatch();
}

Duration ForecastBounds::LongestTurn(int32_t computing) const {
  return computing < instances_ ? Duration(0)
                                : computing * LongestBatch() / instances_;
}

TimePoint ForecastBounds::LatestAnswer(const Request& request,
                                       TimePoint now) const {
  if (!IsForecastValid(now)) {
    return now + slowest_;  // the fastest that was learned is not known here
  }
  const TimePoint begin = now + LongestTurn(computing_) + BatchPlanner::kMargin;
  const int32_t rows_before = request.rows_up_to_level + request.rows - 1;
  if (rows_before == 0) {
    return begin + std::min(kWithDeviations * LongestBatch(),
                            kSlowestWithDeviations * slowest_);
  }
  const int32_t others = request.rows_up_to_level > 0 ? 1 : 0;
  const int32_t batches =
      std::max(rows_before + others,
               request.rows_of_level * (has_levels_ ? kLeastShare : 1));
  return begin + batches * LongestBatch() / instances_ +
         kWithDeviations * LongestBatch();
}

TimePoint ForecastBounds::LatestEnd(TimePoint now) const {
  return IsForecastValid(now) ? now + (max_in_flight_ - 1) * LongestBatch() +
                                    BatchPlanner::kMargin + LongestBatch()
                              : now;
}

// A call that may be delayed is refused only if it would miss its deadline.
TimePoint Simulation::LastMoment(const InferRequest& request) const {
  return options_.scheduler.levels[static_cast<size_t>(request.level)]
                 .delays_late
             ? request.deadline
             : DueOf(request);
}

TimePoint Simulation::LatestAnswer(const InferRequest& request) const {
  ForecastBounds::Request bound{.rows = request.rows};
  for (const Call* call : queued_) {
    const InferRequest& other = call->test.request();
    bound.rows_of_level += other.level == request.level ? other.rows : 0;
    bound.rows_up_to_level += other.level <= request.level ? other.rows : 0;
  }
  return forecasts_.LatestAnswer(bound, Now());
}

void Simulation::CheckRefusedAsLate(const InferRequest& request,
                                    TimePoint latest_answer) const {
  EXPECT_TRUE(MayForecast()) << "refused by an unknown time";
  EXPECT_LT(LastMoment(request), latest_answer)
      << "call " << IdOf(request) << " was refused and had time";
}

// At its close.
void Simulation::CheckDropped(const InferRequest& request) const {
  EXPECT_TRUE(MayForecast()) << "dropped by an unknown time";
  EXPECT_FALSE(request.is_probe) << "what was to be tried was dropped";
  EXPECT_LT(request.due, forecasts_.LatestEnd(Now()))
      << "call " << IdOf(request) << " was dropped and had time";
}

// What cannot be in time is probed now and then, and never two at once.
void Simulation::CheckLetIn(const InferRequest& request) {
  if (!request.is_probe) {
    EXPECT_TRUE(forecasts_.IsForecastValid(Now()) ||
                LastMoment(request) >= forecasts_.EarliestAnswer(Now()))
        << "call " << IdOf(request) << " has less time than any batch took";
    return;
  }
  ++probe_count_;
  EXPECT_LE(probe_count_ * (WaitEstimate::kProbe - 1),
            refused_count_[static_cast<size_t>(Refusal::kWouldMiss)])
      << "more than one of so many is a probe";
  EXPECT_GE(Now(), next_probe_) << "another probe is still under way";
  next_probe_ = Now() + WaitEstimate::kValid;
}

}  // namespace ferry
