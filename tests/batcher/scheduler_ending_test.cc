// Tests deadlines and cancels of requests, while queued and after (G1, G4).
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using absl::StatusCode;

// One instance, which is busy: what is submitted next stays queued.
class BusyScheduler : public ::testing::Test {
 protected:
  BusyScheduler() {
    stepped_.Submit(running_);
    stepped_.Step();
  }
  // What a test leaves running ends with the scheduler, before the requests.
  ~BusyScheduler() override { stepped_.Destroy(); }

  TimePoint In(double ms) { return stepped_.clock().Now() + Milliseconds(ms); }

  TestRequest running_{{.id = 99}};
  SteppedScheduler stepped_;
};

TEST_F(BusyScheduler, QueuedRequestIsAnsweredAtItsDeadline) {
  TestRequest late({.id = 1, .deadline = In(7)});
  TestRequest early({.id = 2, .deadline = In(3)});
  TestRequest never({.id = 3});
  for (TestRequest* request : {&late, &early, &never}) {
    stepped_.Submit(*request);
  }
  Wait wait = stepped_.Step();
  EXPECT_EQ(wait.until, early.request().deadline);
  stepped_.clock().Advance(Milliseconds(3) - Duration(1));
  stepped_.Step();
  EXPECT_FALSE(early.completion().is_answered());
  stepped_.clock().Advance(Duration(1));
  wait = stepped_.Step();
  EXPECT_EQ(early.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(early.completion().is_answered());
  EXPECT_FALSE(late.completion().is_answered());
  EXPECT_EQ(wait.until, late.request().deadline);
  stepped_.clock().Advance(Milliseconds(100));
  EXPECT_EQ(stepped_.Step().until, kNever);
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  stepped_.Settle();
  EXPECT_TRUE(never.HasOwnRows());
}

TEST_F(BusyScheduler, ExpiredRequestNeverReachesTheDevice) {
  TestRequest expired({.id = 1, .deadline = In(1)});
  stepped_.Submit(expired);
  stepped_.Step();
  stepped_.clock().Advance(Milliseconds(1));
  stepped_.instances().Complete(0);  // the instance is idle at the same moment
  stepped_.Step();
  EXPECT_EQ(expired.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(stepped_.instances().started_count(), 1);
}

TEST_F(BusyScheduler, RequestThatExpiredBeforeItWasTakenIsAnswered) {
  TestRequest expired({.id = 1, .deadline = In(1)});
  stepped_.Submit(expired);
  stepped_.clock().Advance(Milliseconds(1));
  stepped_.Step();
  EXPECT_EQ(expired.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(BusyScheduler, DeadlineOfARunningRequestIsNotTheSchedulers) {
  TestRequest request({.id = 1, .deadline = In(5)});
  stepped_.Submit(request);
  stepped_.instances().Complete(0);
  stepped_.Step();
  stepped_.clock().Advance(Milliseconds(10));
  stepped_.Step();
  EXPECT_FALSE(request.completion().is_answered());
  stepped_.Settle();
  EXPECT_TRUE(request.HasOwnRows());
  EXPECT_EQ(stepped_.scheduler().Snapshot().served.late_requests.value(), 1u)
      << "and not the one without a deadline";
}

// Answering one request may take so long that another expires meanwhile.
TEST_F(BusyScheduler, RequestThatExpiresDuringTheStepNeverReachesTheDevice) {
  TestRequest first({.id = 1, .deadline = In(1)});
  TestRequest second({.id = 2, .deadline = In(2)});
  first.completion().on_respond = [&] {
    stepped_.clock().Advance(Milliseconds(5));
  };
  stepped_.Submit(first);
  stepped_.Submit(second);
  stepped_.Step();
  stepped_.instances().Complete(0);
  stepped_.clock().Advance(Milliseconds(1));
  stepped_.Step();
  EXPECT_EQ(first.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(second.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(stepped_.instances().started_count(), 1);
}

TEST_F(BusyScheduler, CancelledRequestIsAnsweredAndNeverReachesTheDevice) {
  TestRequest cancelled({.id = 1});
  TestRequest other({.id = 2});
  stepped_.Submit(cancelled);
  stepped_.Submit(other);
  stepped_.Step();
  stepped_.Cancel(cancelled);
  stepped_.Cancel(cancelled);
  stepped_.Step();
  EXPECT_EQ(cancelled.code(), StatusCode::kCancelled);
  EXPECT_TRUE(cancelled.completion().is_answered());
  stepped_.Settle();
  EXPECT_TRUE(other.HasOwnRows());
  EXPECT_EQ(stepped_.instances().started_count(), 2);
}

TEST_F(BusyScheduler, CancelOfARunningRequestLetsItGoOn) {
  stepped_.Cancel(running_);
  stepped_.Step();
  EXPECT_FALSE(running_.completion().is_answered());
  stepped_.Settle();
  EXPECT_TRUE(running_.HasOwnRows());
}

TEST_F(BusyScheduler, CancelOfAnEndedRequestDoesNothing) {
  stepped_.Settle();
  stepped_.Cancel(running_);
  stepped_.Step();
  EXPECT_EQ(running_.completion().respond_count(), 1);
}

TEST_F(BusyScheduler, RequestsThatLeaveTheQueueMakeRoom) {
  TestRequest expired({.id = 1, .rows = 3, .deadline = In(1)});
  TestRequest cancelled({.id = 2, .rows = 2});
  stepped_.Submit(expired);
  stepped_.Submit(cancelled);
  stepped_.Step();
  SchedulerStatistics counts = stepped_.scheduler().Snapshot();
  EXPECT_EQ(counts.queued_requests, 2);
  EXPECT_EQ(counts.queued_rows, 5);
  std::optional<int32_t> seen_by_the_answered;
  cancelled.completion().on_respond = [&] {
    seen_by_the_answered = stepped_.scheduler().Snapshot().queued_requests;
  };
  stepped_.Cancel(cancelled);
  stepped_.Step();
  EXPECT_EQ(seen_by_the_answered, 1) << "counted before it was told";
  stepped_.clock().Advance(Milliseconds(1));
  stepped_.Step();
  counts = stepped_.scheduler().Snapshot();
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
  EXPECT_EQ(counts.queued_bytes, 8) << "of the running request";
  const auto failed = [&](StatusCode code) {
    return counts.served.failed_requests[static_cast<size_t>(code)].value();
  };
  EXPECT_EQ(failed(StatusCode::kDeadlineExceeded), 1u);
  EXPECT_EQ(failed(StatusCode::kCancelled), 1u);
}

TEST_F(BusyScheduler, AnswerMaySubmitAndCancelOthers) {
  TestRequest next({.id = 1});
  TestRequest victim({.id = 2});
  TestRequest first({.id = 3, .deadline = In(1)});
  first.completion().on_respond = [&] {
    stepped_.Submit(next);
    stepped_.Cancel(victim);
  };
  stepped_.Submit(victim);
  stepped_.Submit(first);
  stepped_.Step();
  stepped_.clock().Advance(Milliseconds(1));
  stepped_.Step();
  stepped_.Step();
  EXPECT_EQ(victim.code(), StatusCode::kCancelled);
  stepped_.Settle();
  EXPECT_TRUE(next.HasOwnRows());
}

TEST_F(BusyScheduler, RequestCancelledWhileItsBatchIsMadeIsLeftOut) {
  TestRequest victim({.id = 1});
  TestRequest other({.id = 2});
  TestRequest first({.id = 3, .deadline = In(1)});
  first.completion().on_respond = [&] { stepped_.Cancel(victim); };
  for (TestRequest* request : {&victim, &other, &first}) {
    stepped_.Submit(*request);
  }
  stepped_.Step();
  stepped_.instances().Complete(0);
  stepped_.clock().Advance(Milliseconds(1));
  stepped_.Step();  // answers `first`, then closes a batch
  EXPECT_EQ(victim.code(), StatusCode::kCancelled);
  ASSERT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_EQ(stepped_.instances().batch(0).rows(), 1);
  stepped_.Settle();
  EXPECT_TRUE(other.HasOwnRows());
}

TEST_F(BusyScheduler, BatchOfWhichAllAreCancelledIsNotStarted) {
  TestRequest victim({.id = 1});
  TestRequest first({.id = 2, .deadline = In(1)});
  first.completion().on_respond = [&] { stepped_.Cancel(victim); };
  stepped_.Submit(victim);
  stepped_.Submit(first);
  stepped_.Step();
  stepped_.instances().Complete(0);
  stepped_.clock().Advance(Milliseconds(1));
  EXPECT_EQ(stepped_.Step().wake_at_rows, 1);
  EXPECT_EQ(victim.code(), StatusCode::kCancelled);
  EXPECT_EQ(stepped_.instances().started_count(), 1);
  TestRequest next({.id = 3});
  stepped_.Submit(next);
  stepped_.Settle();
  EXPECT_TRUE(next.HasOwnRows()) << "the empty batch was not given back";
}

TEST_F(BusyScheduler, AnsweredRequestMayBeSubmittedAgainFromItsAnswer) {
  TestRequest again({.id = 1, .deadline = In(1)});
  int rounds = 0;
  again.completion().on_respond = [&] {
    if (++rounds < 3) {
      again.Reset();
      again.request().deadline = stepped_.clock().Now() + Milliseconds(1);
      stepped_.Submit(again);
    }
  };
  stepped_.Submit(again);
  for (int i = 0; i < 10; ++i) {
    stepped_.clock().Advance(Milliseconds(1));
    stepped_.Step();
  }
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(again.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(BusyScheduler, DestructionAnswersQueuedAndFinishesRunning) {
  TestRequest queued({.id = 1, .deadline = In(1)});
  TestRequest cancelled({.id = 2});
  stepped_.Submit(queued);
  stepped_.Submit(cancelled);
  stepped_.Step();
  stepped_.Cancel(cancelled);
  stepped_.Cancel(running_);
  stepped_.Destroy();
  EXPECT_EQ(queued.code(), StatusCode::kUnavailable);
  EXPECT_EQ(cancelled.code(), StatusCode::kCancelled);
  EXPECT_TRUE(running_.HasOwnRows());
  for (TestRequest* request : {&queued, &cancelled, &running_}) {
    EXPECT_TRUE(request->completion().is_answered());
  }
}

// A clock that does something each time that it is asked in a storm. The
// scheduler asks it while its mutex is held; a test ends the storm when a
// request is answered, which is after that.
class StormyClock final : public Clock {
 public:
  TimePoint Now() const override {
    if (is_stormy_ && times_ < kLongest) {
      is_stormy_ = false;  // what is done asks for the time, too
      ++times_;
      on_now();
      is_stormy_ = true;
    }
    return now_;
  }
  void BeginStorm() { is_stormy_ = true; }
  // Returns how often it has done that, in all storms.
  int EndStorm() {
    is_stormy_ = false;
    return times_;
  }
  void MoveTo(TimePoint now) { now_ = now; }

  std::function<void()> on_now;

 private:
  static constexpr int kLongest = 50;

  TimePoint now_ = TimePoint() + Milliseconds(1000);
  mutable bool is_stormy_ = false;
  mutable int times_ = 0;
};

class SchedulerInAStorm : public ::testing::Test {
 protected:
  static constexpr int kFew = 3;  // while the mutex is held once

  // An answer to the request ends the storm.
  TestRequest& Make(const TestRequestOptions& options = {}) {
    TestRequest& request = requests_.emplace_back(options);
    request.completion().on_respond = [this] { clock_.EndStorm(); };
    return request;
  }
  void Submit(TestRequest& request) {
    EXPECT_TRUE(scheduler_->Submit(request.request()).ok());
  }
  // Returns how often something happened before the first answer.
  int Look() {
    clock_.BeginStorm();
    scheduler_->LookAtQueue();
    return clock_.EndStorm();
  }

  StormyClock clock_;
  std::deque<TestRequest> requests_;
  std::unique_ptr<Scheduler> scheduler_ =
      *Scheduler::Create({.each = {.spec = RowSpec()}},
                         {.policy = PolicyKind::kWindow, .clock = &clock_});
};

TEST_F(SchedulerInAStorm, CancelsAreForTheNextLook) {
  for (int i = 0; i < 100; ++i) {
    Submit(Make());
  }
  size_t cancelled = 0;
  clock_.on_now = [&] { scheduler_->Cancel(requests_[cancelled++].request()); };
  EXPECT_LE(Look(), kFew);
  ASSERT_GT(cancelled, 0u);
  EXPECT_LE(scheduler_->look_at(), clock_.Now() + Milliseconds(1))
      << "the timer would miss it";
  clock_.MoveTo(clock_.Now() + Milliseconds(1));
  scheduler_->LookAtQueue();
  for (size_t i = 0; i < cancelled; ++i) {
    EXPECT_EQ(requests_[i].code(), StatusCode::kCancelled);
  }
  EXPECT_EQ(scheduler_->look_at(), kNever);
}

TEST_F(SchedulerInAStorm, ArrivalsAreForTheNextLook) {
  clock_.on_now = [&] {
    Submit(Make({.deadline = clock_.Now() + Milliseconds(9)}));
  };
  EXPECT_LE(Look(), kFew);
  EXPECT_LE(scheduler_->look_at(), clock_.Now()) << "the timer would miss it";
  scheduler_->LookAtQueue();
  EXPECT_EQ(scheduler_->look_at(), requests_[0].request().deadline);
}

TEST_F(SchedulerInAStorm, ArrivalsAreForTheNextPull) {
  clock_.on_now = [&] {
    TestRequest& request = Make();
    scheduler_->Cancel(request.request());
    Submit(request);
  };
  clock_.BeginStorm();
  EXPECT_EQ(scheduler_->TryNextBatch(0), nullptr);
  EXPECT_LE(clock_.EndStorm(), kFew);
  EXPECT_TRUE(scheduler_->IsNotified(0)) << "it would sleep beside them";
}

}  // namespace
}  // namespace ferry
