// Tests that Scheduler serves requests larger than a batch, in parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr Outcome kFailed = {StatusCode::kInternal, "batch failed"};

uint64_t Ended(const Scheduler& scheduler) {
  const SchedulerStatistics counts = scheduler.Snapshot();
  uint64_t ended = counts.served.ok_requests();
  for (const Counter& failed : counts.served.failed_requests) {
    ended += failed.value();
  }
  return ended;
}

// Batches of four rows at most, one at a time.
class SchedulerSplit : public ::testing::Test {
 protected:
  ~SchedulerSplit() override { stepped_.Destroy(); }

  int32_t RowsOfRunning() const { return stepped_.instances().batch(0).rows(); }
  void Finish(Outcome outcome = {}) {
    stepped_.instances().Complete(0, outcome);
    stepped_.Step();
  }

  TestRequest ten_rows_{{.id = 1, .rows = 10}};
  TestRequest small_{{.id = 2, .rows = 2}};
  SteppedScheduler stepped_{{.scheduler = {.max_batch_size = 4}}};
};

TEST_F(SchedulerSplit, RuntimeOptionsSetTheSizeOfParts) {
  RuntimeOptions options = stepped_.scheduler().runtime_options();
  options.max_batch_size = 2;
  EXPECT_TRUE(stepped_.scheduler().SetRuntimeOptions(options).ok());
  TestRequest four({.id = 3, .rows = 4});
  stepped_.Submit(four);
  stepped_.Step();
  EXPECT_EQ(RowsOfRunning(), 2);
  stepped_.Settle();
  EXPECT_TRUE(four.HasOwnRows());
}

TEST(SchedulerOneBatch, RequestLargerThanABatchIsRefused) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 4, .splits_requests = false}});
  TestRequest four({.id = 1, .rows = 4});
  TestRequest five({.id = 2, .rows = 5});
  const absl::Status refused = stepped.TrySubmit(five);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("request batch size: expected at most 4 rows, as those "
                "of this model may depend on each other and are one "
                "batch (send fewer, raise max_batch_size, or where they "
                "do not depend write dynamic_batching {}), got 5"));
  stepped.Submit(four);
  stepped.Settle();
  EXPECT_TRUE(four.HasOwnRows());
  RuntimeOptions options = stepped.scheduler().runtime_options();
  options.max_batch_size = 2;
  EXPECT_TRUE(stepped.scheduler().SetRuntimeOptions(options).ok());
  four.Reset();
  EXPECT_THAT(std::string(stepped.TrySubmit(four).message()),
              HasSubstr("expected at most 2 rows, as those of this model"));
  EXPECT_EQ(stepped.scheduler()
                .Snapshot()
                .refused[static_cast<size_t>(Refusal::kTooLarge)],
            2u);
  options.queue.rows = 1;
  EXPECT_TRUE(stepped.scheduler().SetRuntimeOptions(options).ok());
  EXPECT_THAT(
      std::string(stepped.TrySubmit(four).message()),
      HasSubstr("expected at most 1 rows, which is all the queue holds, "
                "got 4"));
}

TEST_F(SchedulerSplit, PartsLeaveInOrderAndTheRowsComeBackJoined) {
  stepped_.Submit(ten_rows_);
  stepped_.Step();
  EXPECT_EQ(stepped_.scheduler().Snapshot().queued_requests, 2);
  EXPECT_EQ(stepped_.scheduler().Snapshot().queued_rows, 6);
  for (const int32_t rows : {4, 4, 2}) {
    EXPECT_FALSE(ten_rows_.completion().is_answered());
    ASSERT_EQ(stepped_.instances().running_count(), 1u);
    EXPECT_EQ(RowsOfRunning(), rows);
    Finish();
  }
  EXPECT_TRUE(ten_rows_.HasOwnRows());
  EXPECT_EQ(ten_rows_.completion().respond_count(), 1);
  const SchedulerStatistics counts = stepped_.scheduler().Snapshot();
  EXPECT_EQ(counts.served.ok_requests(), 1u) << "it counts once";
  EXPECT_EQ(counts.served.ok_rows.value(), 10u);
  EXPECT_EQ(counts.queued_bytes, 0);
}

TEST_F(SchedulerSplit, ComputeIsThatOfEachPartsBatch) {
  stepped_.Submit(ten_rows_);
  stepped_.Submit(small_);
  stepped_.Step();
  for (const int ms : {10, 30, 8}) {
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(Milliseconds(ms));
    Finish();
  }
  EXPECT_EQ(small_.completion().compute(), Milliseconds(4));
  EXPECT_EQ(ten_rows_.completion().compute(), Milliseconds(10 + 30 + 4));
}

TEST_F(SchedulerSplit, LastPartTakesCompany) {
  stepped_.Submit(ten_rows_);
  stepped_.Submit(small_);
  stepped_.Step();
  Finish();
  Finish();
  EXPECT_EQ(RowsOfRunning(), 4) << "two of the large one, two of the small";
  Finish();
  EXPECT_TRUE(ten_rows_.HasOwnRows());
  EXPECT_TRUE(small_.HasOwnRows());
}

TEST_F(SchedulerSplit, BytesCountUntilTheWholeHasEnded) {
  SteppedScheduler two_instances(
      {.scheduler = {.max_batch_size = 4},
       .instances = {.spec = RowSpec(), .count = 2}});
  const auto queued_bytes = [&] {
    return two_instances.scheduler().Snapshot().queued_bytes;
  };
  TestRequest request({.id = 3, .rows = 7});
  request.completion().on_respond = [&] {
    EXPECT_EQ(queued_bytes(), 0) << "released before it was told";
  };
  two_instances.Submit(request);
  two_instances.Step();
  const auto joined_bytes = [&] {
    return two_instances.scheduler().Snapshot().joined_bytes;
  };
  EXPECT_EQ(joined_bytes(), 0) << "no part has ended";
  two_instances.instances().Complete(1);  // the last part
  EXPECT_EQ(queued_bytes(), 56) << "the first part runs";
  EXPECT_EQ(joined_bytes(), 56) << "the outputs of all rows";
  two_instances.instances().Complete(0);
  EXPECT_TRUE(request.HasOwnRows());
  EXPECT_EQ(queued_bytes(), 0);
  EXPECT_EQ(joined_bytes(), 0);
}

TEST_F(SchedulerSplit, BytesOfACancelledOneCountWhileAPartRuns) {
  stepped_.Submit(ten_rows_);
  stepped_.Step();
  stepped_.Cancel(ten_rows_);
  stepped_.Step();
  EXPECT_EQ(stepped_.scheduler().Snapshot().queued_bytes, 80);
  Finish();
  EXPECT_EQ(ten_rows_.code(), StatusCode::kCancelled);
  EXPECT_EQ(stepped_.scheduler().Snapshot().queued_bytes, 0);
}

TEST_F(SchedulerSplit, PartsOfOneRequestMayEndInAnyOrder) {
  SteppedScheduler two_instances(
      {.scheduler = {.max_batch_size = 4},
       .instances = {.spec = RowSpec(), .count = 2}});
  TestRequest request({.id = 3, .rows = 7});
  two_instances.Submit(request);
  two_instances.Step();
  ASSERT_EQ(two_instances.instances().running_count(), 2u);
  two_instances.instances().Complete(1);
  EXPECT_FALSE(request.completion().is_answered());
  two_instances.instances().Complete(0);
  EXPECT_TRUE(request.HasOwnRows());
}

TEST_F(SchedulerSplit, FirstErrorEndsTheWholeAndNoPartIsServedAfterIt) {
  stepped_.Submit(ten_rows_);
  stepped_.Step();
  Finish(kFailed);
  EXPECT_EQ(ten_rows_.code(), StatusCode::kInternal);
  EXPECT_EQ(ten_rows_.completion().respond_count(), 1);
  EXPECT_EQ(ten_rows_.completion().early().code, StatusCode::kInternal);
  EXPECT_EQ(stepped_.instances().started_count(), 1);
  EXPECT_TRUE(stepped_.scheduler().IsIdle());
  EXPECT_EQ(Ended(stepped_.scheduler()), 1u);
}

TEST_F(SchedulerSplit, CancelIsToldAtOnceAndEndsWithTheRunningPart) {
  stepped_.Submit(ten_rows_);
  stepped_.Step();
  stepped_.Cancel(ten_rows_);
  stepped_.Step();
  EXPECT_EQ(stepped_.scheduler().Snapshot().queued_requests, 0);
  EXPECT_EQ(ten_rows_.completion().early().code, StatusCode::kCancelled);
  EXPECT_FALSE(ten_rows_.completion().is_answered())
      << "the device still reads its rows";
  Finish();
  EXPECT_EQ(ten_rows_.code(), StatusCode::kCancelled);
  EXPECT_EQ(ten_rows_.completion().respond_count(), 1);
}

TEST_F(SchedulerSplit, CancelBeforeSubmitReachesEveryPart) {
  stepped_.Cancel(ten_rows_);
  stepped_.Submit(ten_rows_);
  stepped_.Step();
  EXPECT_EQ(ten_rows_.code(), StatusCode::kCancelled);
  EXPECT_EQ(ten_rows_.completion().respond_count(), 1);
  EXPECT_EQ(stepped_.instances().started_count(), 0);
}

TEST_F(SchedulerSplit, QueuedPartsExpireAtTheDeadlineOfTheWhole) {
  TestRequest late({.id = 3,
                    .rows = 9,
                    .deadline = stepped_.clock().Now() + Milliseconds(5)});
  stepped_.Submit(late);
  EXPECT_EQ(stepped_.Step().until, late.request().deadline);
  stepped_.clock().Advance(Milliseconds(5));
  stepped_.Step();
  EXPECT_EQ(stepped_.scheduler().Snapshot().queued_requests, 0);
  EXPECT_EQ(late.completion().early().code, StatusCode::kDeadlineExceeded)
      << "told while its first part runs (G4)";
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_FALSE(late.completion().is_answered());
  Finish();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(late.completion().respond_count(), 1);
}

TEST_F(SchedulerSplit, AllPartsAreAdmittedOrNone) {
  SteppedScheduler small_queue(
      {.scheduler = {.max_batch_size = 4, .queue = {.requests = 3}}});
  TestRequest first({.id = 3});
  TestRequest twelve_rows({.id = 4, .rows = 12});
  TestRequest thirteen_rows({.id = 5, .rows = 13});
  small_queue.Submit(first);
  EXPECT_EQ(small_queue.TrySubmit(twelve_rows).code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(small_queue.TrySubmit(thirteen_rows).message(),
            "request batch size: expected at most 12 rows, which is all the "
            "queue holds, got 13");
  EXPECT_EQ(small_queue.scheduler().Snapshot().queued_requests, 1);
  EXPECT_EQ(small_queue.scheduler().Snapshot().queued_rows, 1);
  small_queue.Settle();
  small_queue.Submit(twelve_rows);
  for (int i = 0; i < 4; ++i) {
    small_queue.Settle();
  }
  EXPECT_TRUE(twelve_rows.HasOwnRows());
}

TEST_F(SchedulerSplit, MayBeSubmittedAgain) {
  for (int i = 0; i < 2; ++i) {
    stepped_.Submit(ten_rows_);
    for (int batch = 0; batch < 3; ++batch) {
      stepped_.Step();
      stepped_.Settle();
    }
    EXPECT_TRUE(ten_rows_.HasOwnRows());
    ten_rows_.Reset();
  }
}

TEST_F(SchedulerSplit, DestroyedBatcherAnswersOnce) {
  stepped_.Submit(ten_rows_);
  stepped_.Step();
  stepped_.Destroy();
  EXPECT_EQ(ten_rows_.code(), StatusCode::kUnavailable);
  EXPECT_EQ(ten_rows_.completion().respond_count(), 1);
}

// Large and small requests, cancels, deadlines and failures in any order: each
// is answered once, counted once, with its own rows or for a reason (G1).
class SplitSimulation {
 public:
  explicit SplitSimulation(uint64_t seed)
      : random_(seed),
        stepped_({.scheduler = {.max_batch_size = Uniform(1, 6),
                                .max_requests_per_batch = Uniform(1, 4),
                                .queue = {.requests = Uniform(4, 40)},
                                .max_undelivered_batches = Uniform(1, 2)},
                  .instances = {.spec = RowSpec(), .count = Uniform(2, 4)}}) {}

  void Run(int actions) {
    for (int i = 0; i < actions && !::testing::Test::HasFailure(); ++i) {
      Act();
    }
    if (Uniform(0, 1) == 0) {
      stepped_.Destroy();
    } else {
      while (!stepped_.scheduler().IsIdle()) {
        stepped_.Settle();
      }
      EXPECT_EQ(Ended(stepped_.scheduler()), accepted_);
    }
    for (const Call& call : calls_) {
      Check(call);
    }
    stepped_.Destroy();
  }

 private:
  struct Call {
    explicit Call(const TestRequestOptions& options) : test(options) {}
    TestRequest test;
    bool is_accepted = false;
    bool is_cancelled = false;
    bool has_failed = false;  // a batch with rows of it
  };

  int32_t Uniform(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }

  void Act() {
    const int32_t dice = Uniform(1, 100);
    ScriptedInstances& backend = stepped_.instances();
    if (dice <= 30) {
      Submit();
    } else if (dice <= 36 && !calls_.empty()) {
      Call& call = calls_[static_cast<size_t>(
          Uniform(0, static_cast<int32_t>(calls_.size()) - 1))];
      call.is_cancelled = true;
      stepped_.Cancel(call.test);
    } else if (dice <= 80 && backend.running_count() > 0) {
      const auto index = static_cast<size_t>(
          Uniform(0, static_cast<int32_t>(backend.running_count()) - 1));
      const bool fails = Uniform(1, 12) == 1;
      if (fails && backend.is_staged(index) && !backend.is_computed(index)) {
        for (const Batch::Entry& entry : backend.batch(index).entries()) {
          calls_[static_cast<size_t>(IdOf(*entry.request))].has_failed = true;
        }
      }
      backend.Advance(index, fails ? kFailed : Outcome{});
    } else if (dice <= 88) {
      stepped_.clock().Advance(Duration(Uniform(0, 2'000'000)));
    } else {
      stepped_.Step();
    }
  }

  void Submit() {
    TestRequestOptions options{.id = std::ssize(calls_)};
    options.rows = Uniform(1, 3) == 1 ? Uniform(1, 30) : Uniform(1, 4);
    if (Uniform(1, 3) == 1) {
      options.deadline =
          stepped_.clock().Now() + Duration(Uniform(1, 9'000'000));
    }
    Call& call = calls_.emplace_back(options);
    call.is_accepted = stepped_.TrySubmit(call.test).ok();
    accepted_ += call.is_accepted ? 1 : 0;
  }

  void Check(const Call& call) const {
    const CountingCompletion& completion = call.test.completion();
    EXPECT_EQ(completion.respond_count(), call.is_accepted ? 1 : 0);
    if (!call.is_accepted) {
      return;
    }
    switch (call.test.code()) {
      case StatusCode::kOk:
        EXPECT_TRUE(call.test.HasOwnRows()) << "call " << call.test.id();
        break;
      case StatusCode::kCancelled:
        EXPECT_TRUE(call.is_cancelled);
        break;
      case StatusCode::kDeadlineExceeded:
        EXPECT_NE(call.test.request().due, kNever);
        break;
      case StatusCode::kInternal:
        EXPECT_TRUE(call.has_failed);
        break;
      default:
        EXPECT_EQ(call.test.code(), StatusCode::kUnavailable);
    }
  }

  std::mt19937_64 random_;
  std::deque<Call> calls_;
  SteppedScheduler stepped_;
  uint64_t accepted_ = 0;
};

TEST(SchedulerSplitSimulation, EveryRequestIsAnsweredOnceWithItsOwnRows) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    SplitSimulation(seed).Run(300);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace ferry
