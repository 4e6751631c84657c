// A batch's way through a HostBackend, checked in every interleaving: each
// batch is staged, computed and delivered once, each slot reported once, no
// wake-up lost; and that the check finds each step that is left out.
#include "tests/batcher/model/hand_over_model.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/batcher/model/explorer.h"

namespace ferry {
namespace {

struct Result {
  size_t states = 0;
  size_t rests = 0;     // where nobody moves but who computes
  std::string problem;  // the first one found
};

Result Check(const HandOverConfig& config) {
  using State = HandOverModel::State;
  const HandOverModel model(config);
  Result result;
  result.states = Explore(
      model.Start(), HandOverModel::kChoices,
      [&](State& state, int choice) {
        if (!result.problem.empty()) {
          return Move::kNone;
        }
        const Move move = model.Step(state, choice);
        result.problem = move == Move::kNone ? "" : model.Wrong(state);
        return move;
      },
      [&](const State& state) {
        ++result.rests;
        if (result.problem.empty()) {
          result.problem = model.Problem(state);
        }
        return false;
      });
  return result;
}

void ExpectSound(const HandOverConfig& config) {
  const Result result = Check(config);
  EXPECT_EQ(result.problem, "");
  EXPECT_GT(result.states, 300'000u);
  EXPECT_GT(result.rests, 10u);
}

TEST(HandOverModel, FourBatchesComeThrough) { ExpectSound({.batches = 4}); }

TEST(HandOverModel, TwoThreadsBringBatches) { ExpectSound({.callers = 2}); }

TEST(HandOverModel, LaneThatIsLentKeepsTheOrderOfStages) {
  ExpectSound({.runs_inline = true});
  ExpectSound({.batches = 2, .callers = 2, .runs_inline = true});
}

TEST(HandOverModel, ThreadsThatPollOrWakeForNothingLoseNothing) {
  ExpectSound({.lane_polls = true});
  ExpectSound({.wakes_for_nothing = true});
}

TEST(HandOverModel, FinishedBatchLetsTheNextStart) {
  ExpectSound({.max_batches = 2});
}

TEST(HandOverModel, DestructionEndsWhatWasStarted) {
  ExpectSound({.is_closed = true});
}

// Of the slot that is owed.
TEST(HandOverModel, FindsASlotThatIsNotReportedOrTwice) {
  EXPECT_EQ(Check({.lane_reports = false}).problem, "a slot is never reported");
  EXPECT_EQ(Check({.deliverer_reports = false}).problem,
            "a slot is never reported");
  EXPECT_EQ(Check({.owes_before_push = false}).problem,
            "a slot is never reported");
  EXPECT_EQ(Check({.exchanges_owed = false}).problem,
            "a slot is reported twice, or too early");
}

TEST(HandOverModel, FindsABatchThatIsDeliveredTwice) {
  EXPECT_EQ(Check({.delivers_once = false}).problem,
            "a batch is delivered twice, or too early");
}

// Of the deliverer, who is not always woken.
TEST(HandOverModel, FindsADeliveryThatIsNeitherWokenNorTimed) {
  EXPECT_EQ(Check({.looks_at_timer = false}).problem,
            "the deliverer sleeps beside work");
  EXPECT_EQ(Check({.wakes_if_no_timer = false}).problem,
            "the deliverer sleeps beside work");
  EXPECT_EQ(Check({.sleeps_under_lock = false}).problem,
            "the deliverer sleeps beside work");
}

TEST(HandOverModel, FindsAWakeUpThatIsLost) {
  EXPECT_EQ(Check({.wakes_stager = false}).problem,
            "the stager sleeps beside work");
  EXPECT_EQ(Check({.stager_wakes_lane = false}).problem,
            "the lane sleeps beside work");
}

TEST(HandOverModel, FindsABatchThatIsTakenBeforeItIsStaged) {
  EXPECT_EQ(Check({.pushes_when_staged = false}).problem,
            "a batch is computed that is not the first staged");
  EXPECT_EQ(Check({.stages_in_turn = false}).problem,
            "two batches are staged at once");
  EXPECT_EQ(Check({.counts_when_staged = false}).problem,
            "two batches are staged at once");
  EXPECT_EQ(Check({.counts_in_flight = false}).problem,
            "a batch is computed that is not the first staged");
}

TEST(HandOverModel, FindsALaneThatIsLentUnlockedOrClosedTooEarly) {
  EXPECT_EQ(Check({.batches = 2,
                   .callers = 2,
                   .runs_inline = true,
                   .lane_is_locked = false})
                .problem,
            "a lane runs two batches at once");
  EXPECT_EQ(Check({.is_closed = true, .waits_for_stager = false}).problem,
            "the lane sleeps beside work");
}

}  // namespace
}  // namespace ferry
