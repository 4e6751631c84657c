// Tests Scheduler with threads: drain, end, and statistics (G1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/scheduler.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

// Says that it computes and waits until it may end.
class GatedModel final : public EchoModel {
 public:
  GatedModel(std::latch& computes, std::latch& may_end)
      : EchoModel(RowSpec()), computes_(computes), may_end_(may_end) {}

  Outcome Compute(const Batch& batch, OutputRef& output) override {
    computes_.count_down();
    may_end_.wait();
    return EchoModel::Compute(batch, output);
  }

 private:
  std::latch& computes_;
  std::latch& may_end_;
};

// A scheduler with one instance, whose first batch the test holds.
class HeldScheduler : public ::testing::Test {
 protected:
  HeldScheduler() {
    std::vector<std::unique_ptr<Instance>> instances;
    instances.push_back(*CpuInstance::Create(
        std::make_unique<GatedModel>(computes_, may_end_)));
    scheduler_ =
        *Scheduler::Create(std::move(instances), {.max_batch_size = 4});
    EXPECT_TRUE(scheduler_->Submit(running_.request()).ok());
    computes_.wait();
    EXPECT_TRUE(scheduler_->Submit(queued_.request()).ok());
  }

  std::latch computes_{1};
  std::latch may_end_{1};
  TestRequest running_{{.id = 1}};
  TestRequest queued_{{.id = 2, .rows = 3}};
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(HeldScheduler, DrainThatIsOutOfTimeAnswersWhatIsQueued) {
  const absl::Status drained = scheduler_->Drain(Clock::Steady().Now());
  EXPECT_EQ(drained.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(drained.message()), HasSubstr("not everything"));
  queued_.completion().WaitUntilAnswered();
  EXPECT_EQ(queued_.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(running_.completion().is_answered());
  may_end_.count_down();
  EXPECT_TRUE(scheduler_->Drain(kNever).ok()) << "what runs is finished";
  EXPECT_TRUE(running_.HasOwnRows());
}

TEST_F(HeldScheduler, DrainServesWhatWasAdmittedAndRefusesTheRest) {
  std::thread drainer([&] { EXPECT_TRUE(scheduler_->Drain(kNever).ok()); });
  TestRequest late({.id = 3});
  // Accepted or refused, as the drain has begun or not; answered if accepted.
  const bool is_accepted = scheduler_->Submit(late.request()).ok();
  may_end_.count_down();
  drainer.join();
  EXPECT_TRUE(running_.HasOwnRows());
  EXPECT_TRUE(queued_.HasOwnRows());
  EXPECT_EQ(late.completion().is_answered(), is_accepted);
  TestRequest after({.id = 4});
  EXPECT_EQ(scheduler_->Submit(after.request()).code(),
            StatusCode::kUnavailable);
  EXPECT_TRUE(scheduler_->Drain(kNever).ok())
      << "a second drain is done at once";
}

TEST_F(HeldScheduler, DestructionWaitsForWhatRunsAndAnswersWhatIsQueued) {
  std::thread destroyer([&] { scheduler_.reset(); });
  queued_.completion().WaitUntilAnswered();
  EXPECT_EQ(queued_.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(running_.completion().is_answered());
  may_end_.count_down();
  destroyer.join();
  EXPECT_TRUE(running_.HasOwnRows());
  EXPECT_TRUE(running_.completion().is_answered());
}

TEST_F(HeldScheduler, DeadlineOfAQueuedRequestNeedsNoIdleInstance) {
  TestRequest expiring(
      {.id = 3, .deadline = Clock::Steady().Now() + Milliseconds(2)});
  if (scheduler_->Submit(expiring.request()).ok()) {
    expiring.completion().WaitUntilAnswered();  // the instance still computes
    EXPECT_EQ(expiring.code(), StatusCode::kDeadlineExceeded);
  }
  may_end_.count_down();
  queued_.completion().WaitUntilAnswered();
}

TEST_F(HeldScheduler, SnapshotTellsWhatIsQueuedAndRuns) {
  SchedulerStatistics counts = scheduler_->Snapshot();
  EXPECT_EQ(counts.queued_requests, 1);
  EXPECT_EQ(counts.queued_rows, 3);
  EXPECT_EQ(counts.queued_bytes, 32) << "of the running one, too";
  EXPECT_EQ(counts.running_batches, 1);
  EXPECT_EQ(counts.last_arrival, running_.request().arrival)
      << "the last that an instance has seen";
  ASSERT_EQ(counts.busy.size(), 1u);
  may_end_.count_down();
  EXPECT_TRUE(scheduler_->Drain(kNever).ok());
  counts = scheduler_->Snapshot();
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_bytes, 0);
  EXPECT_EQ(counts.running_batches, 0);
  EXPECT_EQ(counts.served.ok_requests(), 2u);
  EXPECT_EQ(counts.served.ok_rows.value(), 4u);
  EXPECT_EQ(counts.served.by_rows[1].batches.value(), 1u);
  EXPECT_EQ(counts.served.by_rows[3].batches.value(), 1u);
  EXPECT_EQ(static_cast<uint64_t>(counts.busy[0].count()),
            counts.served.compute.sum())
      << "busy time is the sum of what was computed";
}

// Submits the next one when it is answered.
class ChainedCompletion final : public Completion {
 public:
  void Respond(const RequestResult&) override {
    if (next_ != nullptr) {
      EXPECT_TRUE(scheduler_->Submit(*next_).ok());
    }
    answered_.count_down();
  }

  void Chain(Scheduler& scheduler, InferRequest* next) {
    scheduler_ = &scheduler;
    next_ = next;
  }
  void Wait() { answered_.wait(); }

 private:
  Scheduler* scheduler_ = nullptr;
  InferRequest* next_ = nullptr;
  std::latch answered_{1};
};

std::unique_ptr<Scheduler> MakeEcho(const SchedulerOptions& options) {
  std::vector<std::unique_ptr<Instance>> instances;
  instances.push_back(*CpuInstance::Create(*EchoModel::Create(RowSpec())));
  return *Scheduler::Create(std::move(instances), options);
}

TEST(SchedulerThreads, WhatIsAnsweredMaySubmitTheNext) {
  constexpr size_t kLength = 50;
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<ChainedCompletion> completions(kLength);
  const auto scheduler = MakeEcho({});
  for (size_t i = 0; i < kLength; ++i) {
    requests.push_back(std::make_unique<TestRequest>());
    requests[i]->request().completion = &completions[i];
  }
  for (size_t i = 0; i + 1 < kLength; ++i) {
    completions[i].Chain(*scheduler, &requests[i + 1]->request());
  }
  ASSERT_TRUE(scheduler->Submit(requests[0]->request()).ok());
  for (ChainedCompletion& completion : completions) {
    completion.Wait();
  }
}

TEST(SchedulerThreads, WindowEndsByTheInstancesOwnAlarm) {
  TestRequest request;
  const auto scheduler = MakeEcho({.max_batch_size = 4,
                                   .policy = PolicyKind::kWindow,
                                   .max_wait = Milliseconds(1)});
  ASSERT_TRUE(scheduler->Submit(request.request()).ok());
  request.completion().WaitUntilAnswered();
  EXPECT_TRUE(request.HasOwnRows());
}

TEST(SchedulerThreads, IdleSchedulerDrainsAtOnce) {
  const auto scheduler = MakeEcho({});
  EXPECT_TRUE(scheduler->Drain(kNever).ok());
}

TEST(SchedulerThreads, TakeNoClockButTheSystems) {
  class OtherClock final : public Clock {
   public:
    TimePoint Now() const override { return TimePoint(); }
  };
  const OtherClock clock;
  std::vector<std::unique_ptr<Instance>> instances;
  instances.push_back(*CpuInstance::Create(*EchoModel::Create(RowSpec())));
  SchedulerOptions options;
  options.clock = &clock;
  EXPECT_EQ(Scheduler::Create(std::move(instances), options).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ferry
