// The hand-over, checked in every interleaving: no lost request, no lost
// wake-up, each ended exactly once; and that the check finds each step that
// is left out.
#include "tests/batcher/model/wake_up_model.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/batcher/model/explorer.h"

namespace ferry {
namespace {

struct Result {
  size_t states = 0;
  std::string problem;  // the first one found
};

Result Check(const WakeUpConfig& config) {
  using State = WakeUpModel::State;
  const WakeUpModel model(config);
  Result result;
  result.states = Explore(
      model.Start(), WakeUpModel::kChoices,
      [&](State& state, int choice) {
        return result.problem.empty() ? model.Step(state, choice) : Move::kNone;
      },
      [&](State& state) {
        if (result.problem.empty()) {
          result.problem = model.Problem(state);
        }
        return result.problem.empty() && model.PassTime(state);
      });
  return result;
}

void ExpectSound(const WakeUpConfig& config) {
  const Result result = Check(config);
  EXPECT_EQ(result.problem, "");
  EXPECT_GT(result.states, 1000u);
}

TEST(WakeUpModel, OneSlotLosesNothing) {
  ExpectSound({.producers = 2, .slots = 1});
}

TEST(WakeUpModel, TwoSlotsCloseJustInTimeAndLoseNothing) {
  ExpectSound({.producers = 2, .slots = 2, .max_steps = 1});
}

TEST(WakeUpModel, SuppressedWakeUpHidesNeitherAFullBatchNorADeadline) {
  ExpectSound({.producers = 2, .batch_rows = 2, .waits_for_rows = true});
  ExpectSound({.producers = 2,
               .slots = 2,
               .batch_rows = 2,
               .waits_for_rows = true,
               .has_deadline = true});
}

// Of a lane that sleeps or polls, is woken to step, and keeps the alarm until
// it has work.
TEST(WakeUpModel, LaneThatStepsLosesNothing) {
  ExpectSound({.producers = 2, .lanes = 1, .slots = 1});
  ExpectSound({.producers = 2, .lanes = 1, .slots = 2});
  ExpectSound({.producers = 2, .lanes = 2, .slots = 2, .max_steps = 1});
}

TEST(WakeUpModel, LaneKeepsTheAlarmOrHandsItOn) {
  ExpectSound({.producers = 2,
               .lanes = 1,
               .slots = 2,
               .waits_for_rows = true,
               .has_deadline = true});
  ExpectSound({.producers = 2,
               .lanes = 1,
               .slots = 2,
               .batch_rows = 2,
               .waits_for_rows = true,
               .has_deadline = true});
  ExpectSound({.producers = 2,
               .lanes = 2,
               .slots = 2,
               .max_steps = 1,
               .waits_for_rows = true,
               .has_deadline = true});
}

// Beside a batch on the lane a full one leaves just in time, others when a slot
// is free.
TEST(WakeUpModel, OnlyFullBatchesLeaveAheadAndNothingIsLost) {
  for (const int batch_rows : {1, 2}) {
    ExpectSound({.producers = 2,
                 .slots = 2,
                 .batch_rows = batch_rows,
                 .only_full_ahead = true});
    ExpectSound({.producers = 2,
                 .lanes = 1,
                 .slots = 2,
                 .batch_rows = batch_rows,
                 .only_full_ahead = true});
  }
  ExpectSound({.producers = 2,
               .lanes = 1,
               .slots = 2,
               .batch_rows = 1,
               .has_deadline = true,
               .only_full_ahead = true});
  ExpectSound({.producers = 2,
               .lanes = 1,
               .slots = 2,
               .batch_rows = 1,
               .runs_inline = true,
               .only_full_ahead = true});
}

// Of a producer that runs its batch itself where the lane is idle.
TEST(WakeUpModel, LaneThatIsLentLosesNothing) {
  ExpectSound({.producers = 2, .lanes = 1, .slots = 1, .runs_inline = true});
  ExpectSound({.producers = 2, .lanes = 1, .slots = 2, .runs_inline = true});
  ExpectSound({.producers = 2,
               .lanes = 1,
               .slots = 2,
               .has_deadline = true,
               .runs_inline = true});
  ExpectSound(
      {.producers = 1, .lanes = 1, .is_cancelled = true, .runs_inline = true});
  ExpectSound(
      {.producers = 1, .lanes = 1, .is_drained = true, .runs_inline = true});
}

TEST(WakeUpModel, RefusedOnesAreTakenBackAndHideNothing) {
  ExpectSound({.producers = 2, .capacity = 1});
  ExpectSound({.producers = 2, .lanes = 1, .capacity = 1});
}

TEST(WakeUpModel, CancelledRequestIsAnsweredAtOnceAndReleasedOnce) {
  ExpectSound({.producers = 1, .is_cancelled = true});
  ExpectSound({.producers = 1, .lanes = 1, .is_cancelled = true});
  ExpectSound({.producers = 1,
               .lanes = 1,
               .waits_for_rows = true,
               .is_cancelled = true});
}

TEST(WakeUpModel, DrainEndsWhenAllHaveEnded) {
  ExpectSound({.producers = 1, .is_drained = true});
  ExpectSound({.producers = 1, .lanes = 1, .is_drained = true});
}

TEST(WakeUpModel, FindsWhatIsLeftOut) {
  for (const int lanes : {0, 1}) {
    EXPECT_EQ(Check({.lanes = lanes, .looks_before_leaving = false}).problem,
              "a request waits beside an idle lane");
    EXPECT_EQ(
        Check({.lanes = lanes, .producer_looks_for_slots = false}).problem,
        "a request waits beside an idle lane");
    EXPECT_EQ(Check({.lanes = lanes, .slots = 2, .lane_wakes = false}).problem,
              "a request waits beside an idle lane");
    EXPECT_EQ(Check({.lanes = lanes,
                     .waits_for_rows = true,
                     .has_deadline = true,
                     .deadline_wakes = false})
                  .problem,
              "nobody wakes when a request is due");
    EXPECT_EQ(Check({.lanes = lanes, .sees_who_asked = false}).problem,
              "a request waits beside an idle lane");
    EXPECT_EQ(
        Check(
            {.lanes = lanes, .waits_for_rows = true, .sets_alarm_forth = false})
            .problem,
        "nobody wakes when it is time");
    EXPECT_EQ(Check({.producers = 3,
                     .lanes = lanes,
                     .batch_rows = 2,
                     .waits_for_rows = true,
                     .has_deadline = true,
                     .looks_after_alarm = false})
                  .problem,
              "nobody wakes when it is time");
    EXPECT_EQ(
        Check({.lanes = lanes, .capacity = 1, .takes_back = false}).problem,
        "rows were miscounted");
  }
}

TEST(WakeUpModel, FindsWhatALaneLeavesOut) {
  EXPECT_EQ(Check({.lanes = 1, .slots = 2, .hands_alarm_on = false}).problem,
            "nobody wakes when it is time");
  EXPECT_EQ(
      Check({.lanes = 1, .waits_for_rows = true, .lane_calls_again = false})
          .problem,
      "nobody wakes when it is time");
  EXPECT_EQ(Check({.lanes = 1,
                   .slots = 2,
                   .has_deadline = true,
                   .counts_who_has_work = false})
                .problem,
            "nobody wakes when a request is due");
  EXPECT_EQ(
      Check({.lanes = 2, .slots = 2, .wakes_one_for_each = false}).problem,
      "a lane sleeps beside work");
}

TEST(WakeUpModel, FindsThatOneMoreSlotIsNotAwaited) {
  EXPECT_EQ(Check({.lanes = 1,
                   .slots = 2,
                   .only_full_ahead = true,
                   .awaits_one_more = false})
                .problem,
            "a request waits beside an idle lane");
}

TEST(WakeUpModel, FindsWhatALentLaneLeavesOut) {
  EXPECT_EQ(
      Check({.lanes = 1, .runs_inline = true, .serves_beside_lane = false})
          .problem,
      "a request waits beside an idle lane");
  EXPECT_EQ(Check({.lanes = 1,
                   .slots = 2,
                   .runs_inline = true,
                   .lane_is_locked = false})
                .problem,
            "a lane runs two batches at once");
}

TEST(WakeUpModel, FindsWhatACancelOrADrainLeavesOut) {
  EXPECT_EQ(Check({.producers = 1,
                   .waits_for_rows = true,
                   .is_cancelled = true,
                   .cancel_wakes = false})
                .problem,
            "a request is never released");
  EXPECT_EQ(Check({.producers = 2,
                   .waits_for_rows = true,
                   .is_cancelled = true,
                   .looks_for_cancel = false})
                .problem,
            "a cancelled request waits");
  EXPECT_EQ(
      Check({.producers = 1, .is_drained = true, .refused_wakes_drain = false})
          .problem,
      "a drain never ends");
  EXPECT_EQ(
      Check({.producers = 1, .is_drained = true, .finished_wakes_drain = false})
          .problem,
      "a drain never ends");
}

}  // namespace
}  // namespace ferry
