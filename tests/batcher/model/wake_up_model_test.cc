// The hand-over, checked in every interleaving: no lost request, no lost
// wake-up, each started exactly once; and that the check finds each step that
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
  result.states = Explore<State>(
      model.Start(), model.threads(),
      [&](State& state, int thread) {
        return result.problem.empty() && model.Step(state, thread);
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

TEST(WakeUpModel, FindsWhatIsLeftOut) {
  EXPECT_EQ(Check({.looks_before_leaving = false}).problem,
            "a request waits for ever");
  EXPECT_EQ(Check({.producer_looks_for_slots = false}).problem,
            "a request waits for ever");
  EXPECT_EQ(Check({.slots = 2, .lane_wakes = false}).problem,
            "a request waits beside an idle lane");
  EXPECT_EQ(Check({.waits_for_rows = true,
                   .has_deadline = true,
                   .deadline_wakes = false})
                .problem,
            "the alarm is set past a deadline");
  EXPECT_EQ(Check({.sees_who_asked = false}).problem,
            "a request waits for ever");
  EXPECT_EQ(Check({.waits_for_rows = true, .sets_alarm_forth = false}).problem,
            "a request waits for ever");
  EXPECT_EQ(Check({.producers = 3,
                   .batch_rows = 2,
                   .waits_for_rows = true,
                   .has_deadline = true,
                   .looks_after_alarm = false})
                .problem,
            "a request waits for ever");
}

}  // namespace
}  // namespace ferry
