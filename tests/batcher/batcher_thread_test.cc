// Batcher on its own thread: drain, end, and statistics (G1).
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

#include "batcher/batcher.h"
#include "batcher/host_backend.h"
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

// A batcher with one lane, whose first batch the test holds.
class HeldBatcher : public ::testing::Test {
 protected:
  HeldBatcher() {
    std::vector<std::unique_ptr<HostModel>> models;
    models.push_back(std::make_unique<GatedModel>(computes_, may_end_));
    auto backend = HostBackend::Create(std::move(models), {});
    batcher_ = *Batcher::Create(*std::move(backend), {.max_batch_size = 4});
    EXPECT_TRUE(batcher_->Submit(running_.request()).ok());
    computes_.wait();
    EXPECT_TRUE(batcher_->Submit(queued_.request()).ok());
  }

  std::latch computes_{1};
  std::latch may_end_{1};
  TestRequest running_{{.id = 1}};
  TestRequest queued_{{.id = 2, .rows = 3}};
  std::unique_ptr<Batcher> batcher_;
};

TEST_F(HeldBatcher, DrainThatIsOutOfTimeAnswersWhatIsQueued) {
  const absl::Status drained = batcher_->Drain(Clock::Steady().Now());
  EXPECT_EQ(drained.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(drained.message()), HasSubstr("not everything"));
  queued_.completion().WaitUntilReleased();
  EXPECT_EQ(queued_.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(running_.completion().is_answered());
  may_end_.count_down();
  EXPECT_TRUE(batcher_->Drain(kNever).ok()) << "what runs is finished";
  EXPECT_TRUE(running_.HasOwnRows());
}

TEST_F(HeldBatcher, DrainServesWhatWasAdmittedAndRefusesTheRest) {
  std::thread drainer([&] { EXPECT_TRUE(batcher_->Drain(kNever).ok()); });
  TestRequest late({.id = 3});
  // Accepted or refused, as the drain has begun or not; answered if accepted.
  const bool is_accepted = batcher_->Submit(late.request()).ok();
  may_end_.count_down();
  drainer.join();
  EXPECT_TRUE(running_.HasOwnRows());
  EXPECT_TRUE(queued_.HasOwnRows());
  EXPECT_EQ(late.completion().is_answered(), is_accepted);
  TestRequest after({.id = 4});
  EXPECT_EQ(batcher_->Submit(after.request()).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(batcher_->Drain(kNever).ok()) << "a second drain is done at once";
}

TEST_F(HeldBatcher, DestructionWaitsForWhatRunsAndAnswersWhatIsQueued) {
  std::thread destroyer([&] { batcher_.reset(); });
  queued_.completion().WaitUntilReleased();
  EXPECT_EQ(queued_.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(running_.completion().is_answered());
  may_end_.count_down();
  destroyer.join();
  EXPECT_TRUE(running_.HasOwnRows());
  EXPECT_TRUE(running_.completion().is_released());
}

TEST_F(HeldBatcher, DeadlineOfAQueuedRequestNeedsNoFreeSlot) {
  TestRequest expiring(
      {.id = 3, .deadline = Clock::Steady().Now() + Milliseconds(2)});
  if (batcher_->Submit(expiring.request()).ok()) {
    expiring.completion().WaitUntilReleased();  // the slot is still taken
    EXPECT_EQ(expiring.code(), StatusCode::kDeadlineExceeded);
  }
  may_end_.count_down();
  queued_.completion().WaitUntilReleased();
}

TEST_F(HeldBatcher, SnapshotTellsWhatIsQueuedAndRuns) {
  BatcherStatistics counts = batcher_->Snapshot();
  EXPECT_EQ(counts.queued_requests, 1);
  EXPECT_EQ(counts.queued_rows, 3);
  EXPECT_EQ(counts.queued_bytes, 24);
  EXPECT_EQ(counts.running_batches, 1);
  EXPECT_EQ(counts.last_arrival, queued_.request().arrival);
  ASSERT_EQ(counts.busy.size(), 1u);
  may_end_.count_down();
  EXPECT_TRUE(batcher_->Drain(kNever).ok());
  counts = batcher_->Snapshot();
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

// Fails each batch within Start(), on the stepper's thread, which it notes.
class InstantBackend final : public Backend {
 public:
  explicit InstantBackend(std::vector<std::thread::id>& steppers)
      : steppers_(steppers) {}

  const ModelSpec& spec() const override { return spec_; }
  int32_t lanes() const override { return 1; }
  int32_t slots() const override { return 1; }
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override {
    steppers_.push_back(std::this_thread::get_id());
    batch->TakeLane(0, Clock::Steady().Now());
    events.Staged(*batch);
    batch->SetResult({StatusCode::kInternal, "instant"}, OutputRef());
    events.ComputeEnded(*batch);
    events.SlotFree();
    events.Finished(std::move(batch));
  }

 private:
  const ModelSpec spec_ = RowSpec();
  std::vector<std::thread::id>& steppers_;
};

class SteppingBatcher : public ::testing::Test {
 protected:
  void Start(const BatcherOptions& options) {
    batcher_ =
        *Batcher::Create(std::make_unique<InstantBackend>(steppers_), options);
  }

  std::vector<std::thread::id> steppers_;  // of each batch
  std::unique_ptr<Batcher> batcher_;
};

TEST_F(SteppingBatcher, WhoBringsNewsStepsOnTheSpot) {
  Start({.policy = PolicyKind::kEager});
  // The own thread steps once when it starts, and may be at it.
  constexpr int kTries = 1000;
  bool is_on_the_spot = false;
  for (int i = 0; i < kTries && !is_on_the_spot; ++i) {
    TestRequest request;
    ASSERT_TRUE(batcher_->Submit(request.request()).ok());
    request.completion().WaitUntilReleased();
    is_on_the_spot = steppers_.back() == std::this_thread::get_id();
  }
  EXPECT_TRUE(is_on_the_spot);
}

TEST_F(SteppingBatcher, OwnThreadStepsWhenItIsTime) {
  Start({.max_batch_size = 4,
         .policy = PolicyKind::kWindow,
         .max_wait = Milliseconds(1)});
  TestRequest request;
  ASSERT_TRUE(batcher_->Submit(request.request()).ok());
  request.completion().WaitUntilReleased();
  batcher_.reset();
  ASSERT_EQ(steppers_.size(), 1u);
  EXPECT_NE(steppers_[0], std::this_thread::get_id());
}

// Submits the next one when it is answered.
class ChainedCompletion final : public Completion {
 public:
  void Respond(Outcome, OutputRows, Last) override {
    if (next_ != nullptr) {
      EXPECT_TRUE(batcher_->Submit(*next_).ok());
    }
  }
  void Released() override { released_.count_down(); }

  void Chain(Batcher& batcher, InferRequest* next) {
    batcher_ = &batcher;
    next_ = next;
  }
  void Wait() { released_.wait(); }

 private:
  Batcher* batcher_ = nullptr;
  InferRequest* next_ = nullptr;
  std::latch released_{1};
};

TEST_F(SteppingBatcher, WhoIsAnsweredWithinAStepMaySubmitTheNext) {
  Start({.policy = PolicyKind::kEager});
  constexpr size_t kLength = 50;
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<ChainedCompletion> completions(kLength);
  for (size_t i = 0; i < kLength; ++i) {
    requests.push_back(std::make_unique<TestRequest>());
    requests[i]->request().completion = &completions[i];
  }
  for (size_t i = 0; i + 1 < kLength; ++i) {
    completions[i].Chain(*batcher_, &requests[i + 1]->request());
  }
  ASSERT_TRUE(batcher_->Submit(requests[0]->request()).ok());
  for (ChainedCompletion& completion : completions) {
    completion.Wait();
  }
  batcher_.reset();
  EXPECT_EQ(steppers_.size(), kLength);
  EXPECT_LT(std::count(steppers_.begin(), steppers_.end(),
                       std::this_thread::get_id()),
            std::ssize(steppers_) / 2)
      << "who has other work leaves the rest to the own thread";
}

TEST(BatcherThread, IdleBatcherDrainsAtOnce) {
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(*EchoModel::Create(RowSpec()));
  auto backend = HostBackend::Create(std::move(models), {});
  const auto batcher = Batcher::Create(*std::move(backend), {});
  EXPECT_TRUE((*batcher)->Drain(kNever).ok());
}

}  // namespace
}  // namespace ferry
