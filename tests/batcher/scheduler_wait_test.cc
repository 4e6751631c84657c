// Tests which instance waits for what, and what wakes it or the timer. On a
// fake clock; the instances pull only when their threads would.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string_view>
#include <utility>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

class SchedulerWait : public ::testing::Test {
 protected:
  void Begin(const SchedulerOptions& options, int32_t instances = 1) {
    SteppedSchedulerOptions all;
    all.scheduler = options;
    all.instances.count = instances;
    stepped_ = std::make_unique<SteppedScheduler>(all);
    stepped_->StepWhatIsDue();
  }
  TestRequest& Submit(TestRequestOptions options = {}) {
    options.id = std::ssize(requests_);
    requests_.emplace_back(options);
    stepped_->Submit(requests_.back());
    return requests_.back();
  }
  void Pass(Duration time) {
    stepped_->clock().Advance(time);
    stepped_->StepWhatIsDue();
  }
  size_t running() { return stepped_->instances().running_count(); }
  bool IsNotified(InstanceId id) {
    return stepped_->scheduler().IsNotified(id);
  }
  int32_t NotifyAtRows() { return stepped_->scheduler().NotifyAtRows(); }
  TimePoint Now() { return stepped_->clock().Now(); }

  std::deque<TestRequest> requests_;
  std::unique_ptr<SteppedScheduler> stepped_;
};

TEST_F(SchedulerWait, OneArrivalWakesOneInstance) {
  Begin({}, 3);
  EXPECT_EQ(NotifyAtRows(), 1);
  Submit();
  EXPECT_EQ(IsNotified(0) + IsNotified(1) + IsNotified(2), 1);
  EXPECT_EQ(NotifyAtRows(), Wait::kNoRows) << "the word is claimed";
  Submit();
  EXPECT_EQ(IsNotified(0) + IsNotified(1) + IsNotified(2), 1);
  stepped_->StepWhatIsDue();
  ASSERT_EQ(running(), 1u) << "one batch takes both";
  EXPECT_EQ(NotifyAtRows(), 1) << "another instance waits";
  stepped_->Settle();
}

TEST_F(SchedulerWait, InstanceThatLeavesRequestsBehindWakesAnother) {
  Begin({.max_batch_size = 2}, 2);
  for (int i = 0; i < 3; ++i) {
    Submit();
  }
  ASSERT_NE(stepped_->scheduler().TryNextBatch(IsNotified(0) ? 0 : 1), nullptr);
  EXPECT_TRUE(IsNotified(0) || IsNotified(1));
  stepped_->StepWhatIsDue();
  EXPECT_EQ(running(), 1u);
  stepped_->Settle();
}

TEST_F(SchedulerWait, WindowWakesAtAFullBatchOrItsEnd) {
  Begin({.max_batch_size = 3, .policy = PolicyKind::kWindow});
  Submit();
  EXPECT_TRUE(IsNotified(0)) << "to set its alarm";
  stepped_->StepWhatIsDue();
  EXPECT_EQ(NotifyAtRows(), 3);
  Submit();
  EXPECT_FALSE(stepped_->IsStepDue());
  Submit();
  EXPECT_TRUE(IsNotified(0));
  stepped_->StepWhatIsDue();
  EXPECT_EQ(running(), 1u);
  stepped_->Settle();
}

TEST_F(SchedulerWait, OneOfSeveralWaitersHasTheAlarmOfAWindow) {
  Begin({.max_batch_size = 4, .policy = PolicyKind::kWindow}, 2);
  Submit();
  stepped_->StepWhatIsDue();
  const TimePoint first = stepped_->scheduler().PullAt(0);
  const TimePoint second = stepped_->scheduler().PullAt(1);
  EXPECT_EQ(std::min(first, second), Now() + Milliseconds(5));
  EXPECT_EQ(std::max(first, second), kNever);
  const InstanceId other = first == kNever ? 0 : 1;
  ASSERT_EQ(stepped_->scheduler().TryNextBatch(other), nullptr);
  EXPECT_EQ(stepped_->scheduler().PullAt(other), kNever) << "it pulled again";
  Pass(Milliseconds(5));
  EXPECT_EQ(running(), 1u);
  EXPECT_EQ(NotifyAtRows(), 1) << "the other waits for the next";
  stepped_->Settle();
}

TEST_F(SchedulerWait, InstanceThatComputesIsWokenByNoArrival) {
  Begin({.max_batch_size = 4, .policy = PolicyKind::kWindow});
  Submit();
  stepped_->StepWhatIsDue();
  EXPECT_EQ(NotifyAtRows(), 4);
  Pass(Milliseconds(5));
  ASSERT_EQ(running(), 1u);
  EXPECT_EQ(NotifyAtRows(), Wait::kNoRows);
  stepped_->Settle();
}

TEST_F(SchedulerWait, PullThatComesBeforeTheTimerSaysWhatExpired) {
  Begin({});
  Submit();
  stepped_->StepWhatIsDue();
  ASSERT_EQ(running(), 1u);
  TestRequest& expired = Submit({.deadline = Now() + Milliseconds(1)});
  stepped_->clock().Advance(Milliseconds(2));
  stepped_->instances().Complete(0);
  ASSERT_EQ(stepped_->scheduler().TryNextBatch(0), nullptr);
  EXPECT_EQ(
      expired.completion().outcome().text,
      std::string_view("request passed its deadline while it was queued"));
}

TEST_F(SchedulerWait, TimerLooksBeforeADeadlineIsCritical) {
  Begin({.policy = PolicyKind::kAdaptive});
  Submit();
  stepped_->StepWhatIsDue();
  ASSERT_EQ(running(), 1u);
  const TimePoint due = Now() + Milliseconds(10);
  Submit({.deadline = due});
  stepped_->scheduler().LookAtQueue();
  EXPECT_LT(stepped_->scheduler().look_at(), due);
  EXPECT_GT(stepped_->scheduler().look_at(), Now());
  stepped_->Settle();
}

// Calls `hook` when a split request is stamped for the second time: it is
// admitted then, and not pushed.
class HookedClock final : public Clock {
 public:
  TimePoint Now() const override {
    if (calls_ > 0 && --calls_ == 0) {
      hook_();
    }
    return FromNanos(1'000'000'000);
  }
  void BeforePush(std::function<void()> hook) {
    hook_ = std::move(hook);
    calls_ = 2;
  }

 private:
  mutable int calls_ = 0;
  std::function<void()> hook_;
};

class SchedulerBeforePush : public ::testing::Test {
 protected:
  // What happens before the push is over before the timer looks.
  void Submit(std::function<void()> before_push) {
    clock_.BeforePush([this, before_push = std::move(before_push)] {
      before_push();
      scheduler_->LookAtQueue();
    });
    const absl::Status status = scheduler_->Submit(large_.request());
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_LE(scheduler_->look_at(), clock_.Now()) << "the timer sleeps on";
    scheduler_->LookAtQueue();
  }

  HookedClock clock_;
  std::unique_ptr<Scheduler> scheduler_ =
      *Scheduler::Create(PulledInstances{.each = {.spec = RowSpec()}},
                         {.max_batch_size = 4, .clock = &clock_});
  TestRequest large_{{.rows = 10}};
};

TEST_F(SchedulerBeforePush, CancelIsSeenByTheTimer) {
  Submit([this] { scheduler_->Cancel(large_.request()); });
  EXPECT_EQ(large_.code(), absl::StatusCode::kCancelled);
}

TEST_F(SchedulerBeforePush, LossOfTheDeviceIsSeenByTheTimer) {
  Submit([this] { scheduler_->DeviceLost(); });
  EXPECT_EQ(large_.code(), absl::StatusCode::kUnavailable);
}

TEST_F(SchedulerWait, AlarmIsHandedOnWhenItsOwnerLeaves) {
  Begin({.max_batch_size = 2, .policy = PolicyKind::kWindow}, 2);
  Submit();
  stepped_->StepWhatIsDue();
  Submit();
  Submit();  // one more than a batch
  stepped_->StepWhatIsDue();
  ASSERT_EQ(running(), 1u);
  EXPECT_EQ(std::min(stepped_->scheduler().PullAt(0),
                     stepped_->scheduler().PullAt(1)),
            Now() + Milliseconds(5));
  Pass(Milliseconds(5));
  EXPECT_EQ(running(), 2u);
  stepped_->Settle();
}

TEST_F(SchedulerWait, TimerExpiresWhatIsQueuedWhileTheInstanceIsBusy) {
  Begin({});
  Submit();
  stepped_->StepWhatIsDue();
  ASSERT_EQ(running(), 1u);
  const TimePoint begin = Now();
  const auto look_at = [&] { return stepped_->scheduler().look_at() - begin; };
  TestRequest& late = Submit({.deadline = begin + Milliseconds(9)});
  EXPECT_EQ(look_at(), Milliseconds(9)) << "the first deadline";
  Submit({.deadline = begin + Milliseconds(20)});
  EXPECT_EQ(look_at(), Milliseconds(9)) << "a later one";
  TestRequest& early = Submit({.deadline = begin + Milliseconds(3)});
  EXPECT_EQ(look_at(), Milliseconds(3)) << "an earlier one";
  Pass(Milliseconds(3) - Duration(1));
  EXPECT_FALSE(early.completion().is_answered());
  Pass(Duration(1));
  EXPECT_EQ(early.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(look_at(), Milliseconds(9));
  Pass(Milliseconds(6));
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  stepped_->Settle();
}

TEST_F(SchedulerWait, CancelsAreAnsweredTogetherWithinAMillisecond) {
  Begin({});
  Submit();
  stepped_->StepWhatIsDue();
  TestRequest& first = Submit();
  TestRequest& second = Submit();
  stepped_->Cancel(first);
  const TimePoint look_at = stepped_->scheduler().look_at();
  EXPECT_GT(look_at, Now());
  EXPECT_LE(look_at, Now() + Milliseconds(0.9));
  Pass(Milliseconds(0.1));
  stepped_->Cancel(second);
  EXPECT_EQ(stepped_->scheduler().look_at(), look_at);
  Pass(look_at - Now());
  EXPECT_EQ(first.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second.code(), absl::StatusCode::kCancelled);
  stepped_->Settle();
}

TEST_F(SchedulerWait, RequestThatWasCancelledBeforeItsSubmitIsAnswered) {
  Begin({.max_batch_size = 4, .policy = PolicyKind::kWindow});
  requests_.emplace_back();
  stepped_->Cancel(requests_.back());
  stepped_->StepWhatIsDue();
  stepped_->Submit(requests_.back());
  stepped_->StepWhatIsDue();
  EXPECT_EQ(requests_.back().code(), absl::StatusCode::kCancelled);
}

TEST_F(SchedulerWait, DrainWakesABatchThatWaitsForCompany) {
  Begin({.max_batch_size = 4, .policy = PolicyKind::kWindow});
  Submit();
  stepped_->StepWhatIsDue();
  EXPECT_EQ(running(), 0u);
  stepped_->scheduler().BeginDrain();
  stepped_->StepWhatIsDue();
  EXPECT_EQ(running(), 1u);
  stepped_->Settle();
}

TEST_F(SchedulerWait, RuntimeOptionsWakeABatchThatTheyMakeLeave) {
  Begin({.max_batch_size = 4, .policy = PolicyKind::kWindow});
  Submit();
  stepped_->StepWhatIsDue();
  RuntimeOptions options = stepped_->scheduler().runtime_options();
  options.max_wait = Milliseconds(50);
  EXPECT_TRUE(stepped_->scheduler().SetRuntimeOptions(options).ok());
  Pass(Milliseconds(5));
  EXPECT_EQ(running(), 0u) << "the old alarm, the new wait";
  options.policy = PolicyKind::kEager;
  EXPECT_TRUE(stepped_->scheduler().SetRuntimeOptions(options).ok());
  stepped_->StepWhatIsDue();
  EXPECT_EQ(running(), 1u);
  stepped_->Settle();
}

TEST_F(SchedulerWait, ShorterMaxWaitMovesTheAlarm) {
  Begin({.max_batch_size = 4, .policy = PolicyKind::kWindow});
  Submit();
  stepped_->StepWhatIsDue();
  RuntimeOptions options = stepped_->scheduler().runtime_options();
  options.max_wait = Milliseconds(2);
  EXPECT_TRUE(stepped_->scheduler().SetRuntimeOptions(options).ok());
  stepped_->StepWhatIsDue();
  Pass(Milliseconds(2));
  EXPECT_EQ(running(), 1u);
  stepped_->Settle();
}

TEST_F(SchedulerWait, InstanceWaitsForABatchWhileRepliesAreSlow) {
  Begin({.max_undelivered_batches = 1});
  for (int i = 0; i < 2; ++i) {
    Submit();
    stepped_->StepWhatIsDue();
    stepped_->instances().Stage(static_cast<size_t>(i));
    stepped_->instances().EndCompute(static_cast<size_t>(i));
  }
  Submit();
  stepped_->StepWhatIsDue();
  EXPECT_EQ(stepped_->instances().started_count(), 2);
  EXPECT_FALSE(stepped_->IsStepDue());
  stepped_->instances().Finish(0);
  EXPECT_TRUE(stepped_->IsStepDue());
  stepped_->StepWhatIsDue();
  EXPECT_EQ(stepped_->instances().started_count(), 3);
  stepped_->Settle();
}

}  // namespace
}  // namespace ferry
