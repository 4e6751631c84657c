// Tests that a batch goes on growing while its instance waits for its turn on a
// device that other models share. On a fake clock.
#include <gtest/gtest.h>

#include <deque>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

class OtherModel final : public ShareClient {
 public:
  using ShareClient::ShareClient;
  void TurnCame() override {}
};

class SchedulerShare : public ::testing::Test {
 protected:
  SchedulerShare() { stepped_.Step(); }

  SteppedSchedulerOptions Options() {
    SteppedSchedulerOptions options;
    options.scheduler.max_batch_size = 8;
    options.scheduler.device = &device_;
    return options;
  }
  bool OtherEnters() {
    return device_.TryEnter(other_, stepped_.clock().Now()).is_let_in;
  }
  void OtherLeaves() {
    device_.Leave(other_, Milliseconds(1), stepped_.clock().Now());
  }
  // Past the moment for which the device keeps a place for the other.
  void Pass() {
    stepped_.clock().Advance(Milliseconds(1));
    stepped_.StepWhatIsDue();
  }
  TestRequest& Submit(TimePoint deadline = kNever) {
    requests_.emplace_back(
        TestRequestOptions{.id = std::ssize(requests_), .deadline = deadline});
    stepped_.Submit(requests_.back());
    stepped_.StepWhatIsDue();
    return requests_.back();
  }

  DeviceShare device_{1};
  ModelShare other_share_;
  OtherModel other_{other_share_};
  std::deque<TestRequest> requests_;
  SteppedScheduler stepped_{Options()};
};

TEST_F(SchedulerShare, BatchGrowsUntilItsTurn) {
  ASSERT_TRUE(OtherEnters());
  Submit();
  EXPECT_EQ(stepped_.instances().running_count(), 0u);
  EXPECT_EQ(stepped_.scheduler().NotifyAtRows(), Wait::kNoRows)
      << "rows change nothing";
  Submit();
  Submit();
  OtherLeaves();
  Pass();
  ASSERT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_EQ(stepped_.instances().batch(0).rows(), 3);
  EXPECT_FALSE(OtherEnters()) << "its turn is taken";
  stepped_.instances().Stage(0);
  stepped_.instances().EndCompute(0);
  Pass();
  EXPECT_EQ(device_.TryEnter(other_, stepped_.clock().Now()).is_let_in, true);
  stepped_.Settle();
}

TEST_F(SchedulerShare, TurnWithoutWorkIsGivenBack) {
  ASSERT_TRUE(OtherEnters());
  TestRequest& expiring = Submit(stepped_.clock().Now() + Milliseconds(2));
  stepped_.clock().Advance(Milliseconds(3));
  stepped_.StepWhatIsDue();
  EXPECT_EQ(expiring.code(), absl::StatusCode::kDeadlineExceeded);
  OtherLeaves();
  Pass();
  EXPECT_EQ(stepped_.instances().running_count(), 0u);
  EXPECT_TRUE(OtherEnters()) << "the instance has no batch for it";
  OtherLeaves();
  stepped_.clock().Advance(Milliseconds(1));
  Submit();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  stepped_.Settle();
}

TEST_F(SchedulerShare, DestroyedSchedulerWaitsForNoTurn) {
  ASSERT_TRUE(OtherEnters());
  Submit();
  stepped_.Destroy();
  OtherLeaves();
  EXPECT_TRUE(OtherEnters()) << "no turn comes to a scheduler that has gone";
}

TEST_F(SchedulerShare, DestroyedSchedulerGivesItsTurnBack) {
  ASSERT_TRUE(OtherEnters());
  Submit();
  OtherLeaves();
  stepped_.clock().Advance(Milliseconds(1));
  EXPECT_FALSE(OtherEnters()) << "the instance has its turn and did not pull";
  stepped_.Destroy();
  EXPECT_TRUE(OtherEnters());
}

TEST_F(SchedulerShare, InstanceSleepsUntilABatchIsDelivered) {
  SteppedSchedulerOptions options = Options();
  options.scheduler.max_batch_size = 1;
  options.scheduler.max_undelivered_batches = 1;
  SteppedScheduler stepped(options);
  TestRequest requests[3];
  for (TestRequest& request : requests) {
    stepped.Submit(request);
    stepped.StepWhatIsDue();
    if (&request != &requests[2]) {
      const size_t last = stepped.instances().running_count() - 1;
      stepped.instances().Stage(last);
      stepped.instances().EndCompute(last);
      stepped.clock().Advance(Milliseconds(1));
      stepped.StepWhatIsDue();
    }
  }
  EXPECT_EQ(stepped.instances().running_count(), 2u) << "all are undelivered";
  EXPECT_FALSE(stepped.IsStepDue()) << "it would pull again and again";
  stepped.instances().Finish(0);
  stepped.StepWhatIsDue();
  EXPECT_EQ(stepped.instances().running_count(), 2u);
  stepped.Settle();
}

TEST_F(SchedulerShare, WaitForTheTurnCountsAsTimeOfTheBatch) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(OtherEnters());
    Submit();
    stepped_.clock().Advance(Milliseconds(4));
    OtherLeaves();
    Pass();
    ASSERT_EQ(stepped_.instances().running_count(), 1u);
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(Milliseconds(5));
    stepped_.instances().Complete(0);
    Pass();
  }
  const ServiceTimeLine learned = stepped_.scheduler().Snapshot().service_time;
  EXPECT_NEAR(learned.alpha_ns + learned.beta_ns, 10e6, 2e6);
  stepped_.Settle();
}

}  // namespace
}  // namespace ferry
