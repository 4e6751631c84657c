// Batchers under fire: many threads submit, cancel, read statistics and let
// deadlines pass, over models that fail and throw, until a drain, a loss of the
// device or the end of the batcher. Every accepted call ends exactly once with
// its own rows or an error (G1); CountingCompletion says what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "batcher/batcher.h"
#include "batcher/host_backend.h"
#include "batcher/sim/simulated_model.h"
#include "batcher/weighted_gate.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

constexpr int kThreads = 3;

struct FleetOptions {
  int32_t lanes = 2;
  HostBackendOptions backend = {};
  int64_t fail_every = 11;
  int64_t throw_every = 17;
  Duration alpha = Milliseconds(0.05);
};

std::unique_ptr<Backend> MakeBackend(const FleetOptions& options) {
  std::vector<std::unique_ptr<HostModel>> models;
  for (int32_t lane = 0; lane < options.lanes; ++lane) {
    models.push_back(*SimulatedModel::Create(
        RowSpec(kAnySize), {.alpha = options.alpha,
                            .beta = Milliseconds(0.005),
                            .jitter = 0.5,
                            .fail_every = options.fail_every,
                            .throw_every = options.throw_every,
                            .seed = static_cast<uint64_t>(lane) + 1}));
  }
  auto backend = HostBackend::Create(std::move(models), options.backend);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return *std::move(backend);
}

std::unique_ptr<Batcher> MakeBatcher(std::unique_ptr<Backend> backend,
                                     const BatcherOptions& options) {
  auto batcher = Batcher::Create(std::move(backend), options);
  EXPECT_TRUE(batcher.ok()) << batcher.status();
  return *std::move(batcher);
}

// Calls of several threads, all used once, so that whoever likes may cancel
// any of them at any time.
class Fleet {
 public:
  Fleet(Batcher& batcher, int calls_per_thread) : batcher_(batcher) {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> after(0, 49);
    const TimePoint now = Clock::Steady().Now();
    for (int id = 0; id < kThreads * calls_per_thread; ++id) {
      calls_.emplace_back(TestRequestOptions{
          .id = id,
          .rows = static_cast<int32_t>(random() % 4 + 1),
          .width = random() % 8 == 0 ? 2 : 1,
          .deadline = random() % 3 == 0 ? now + after(random) * Milliseconds(1)
                                        : kNever});
    }
    is_accepted_.resize(calls_.size());
  }

  // Each thread submits its calls, cancels some of anybody's, looks at the
  // statistics, until all are submitted or the batcher takes no more.
  void Launch() {
    for (size_t t = 0; t < kThreads; ++t) {
      threads_.emplace_back([this, t] { SubmitAll(t); });
    }
  }
  // Returns when that many calls were submitted. REQUIRES: none was refused
  // for good, so that they will be.
  void WaitForSubmitted(int count) const {
    for (int now = submitted_; now < count; now = submitted_) {
      submitted_.wait(now);
    }
  }
  void Join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  // Waits for the end of every accepted call and checks what it was told.
  void Check(std::vector<StatusCode> legal) {
    std::map<StatusCode, int> counts;
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (is_accepted_[i] == 0) {
        EXPECT_FALSE(calls_[i].completion().is_answered()) << "call " << i;
        continue;
      }
      calls_[i].completion().WaitUntilReleased();
      const StatusCode code = calls_[i].code();
      ++counts[code];
      EXPECT_TRUE(code != StatusCode::kOk || calls_[i].HasOwnRows())
          << "call " << i << " got rows of another";
      EXPECT_NE(std::count(legal.begin(), legal.end(), code), 0)
          << "call " << i << ": " << calls_[i].completion().outcome().text;
      calls_[i].completion().DropOutput();
    }
    accepted_by_code_ = std::move(counts);
  }

  const std::map<StatusCode, int>& accepted_by_code() const {
    return accepted_by_code_;
  }

 private:
  void SubmitAll(size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (size_t i = thread; i < calls_.size(); i += kThreads) {
      const absl::Status status = batcher_.Submit(calls_[i].request());
      is_accepted_[i] = status.ok() ? 1 : 0;
      submitted_ += 1;
      submitted_.notify_all();
      if (absl::IsUnavailable(status)) {
        return;
      }
      if (random() % 4 == 0) {
        batcher_.Cancel(calls_[random() % calls_.size()].request());
      }
      if (random() % 64 == 0) {
        const BatcherStatistics counts = batcher_.Snapshot();
        EXPECT_GE(counts.queued_bytes, 0);
      }
      if (random() % 16 == 0) {
        std::this_thread::yield();
      }
    }
  }

  Batcher& batcher_;
  std::deque<TestRequest> calls_;
  std::vector<char> is_accepted_;  // each written by its thread
  std::atomic<int> submitted_{0};
  std::vector<std::thread> threads_;
  std::map<StatusCode, int> accepted_by_code_;
};

void ExpectCounted(const Batcher& batcher,
                   const std::map<StatusCode, int>& by_code) {
  const BatcherStatistics counts = batcher.Snapshot();
  for (const auto& [code, count] : by_code) {
    const auto index = static_cast<size_t>(code);
    const uint64_t counted = code == StatusCode::kOk
                                 ? counts.served.ok_requests()
                                 : counts.served.failed_requests[index].value();
    EXPECT_EQ(counted, static_cast<uint64_t>(count)) << "code " << index;
  }
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
}

const std::vector<StatusCode> kServed = {
    StatusCode::kOk, StatusCode::kCancelled, StatusCode::kDeadlineExceeded,
    StatusCode::kInternal};

TEST(Storm, EveryCallEndsOnceUnderEachPolicyAndShape) {
  const BatcherOptions kOptions[] = {
      {.max_batch_size = 8},
      {.max_batch_size = 8,
       .policy = PolicyKind::kWindow,
       .max_wait = Milliseconds(0.5)},
      {.max_batch_size = 16,
       .max_requests_per_batch = 2,
       .max_undelivered_batches = 1},
      {.max_batch_size = 4, .queue = {.requests = 8, .rows = 16}},
      {.max_batch_size = 8,
       .buckets = {2, 8},
       .levels = {{.default_timeout = Milliseconds(0.2), .delays_late = true}}},
  };
  for (const BatcherOptions& options : kOptions) {
    const auto batcher = MakeBatcher(
        MakeBackend({.lanes = 2, .backend = {.slots_per_lane = 2}}), options);
    Fleet fleet(*batcher, 400);
    fleet.Launch();
    fleet.Join();
    fleet.Check(kServed);
    EXPECT_GT(fleet.accepted_by_code().at(StatusCode::kOk), 0);
    EXPECT_TRUE(batcher->Drain(kNever).ok());
    ExpectCounted(*batcher, fleet.accepted_by_code());
  }
}

// Batches are slow enough for the next to be staged meanwhile.
TEST(Storm, EveryCallEndsOnceWhereFullBatchesAreStagedAhead) {
  const FleetOptions slow = {
      .lanes = 1, .backend = {.slots_per_lane = 2}, .alpha = Milliseconds(1.2)};
  const auto batcher = MakeBatcher(MakeBackend(slow), {.max_batch_size = 4});
  Fleet fleet(*batcher, 150);
  fleet.Launch();
  fleet.Join();
  fleet.Check(kServed);
  EXPECT_TRUE(batcher->Drain(kNever).ok());
  ExpectCounted(*batcher, fleet.accepted_by_code());
}

TEST(Storm, DrainUnderFireServesWhatWasAdmitted) {
  for (int round = 0; round < 20; ++round) {
    const auto batcher = MakeBatcher(MakeBackend({}), {.max_batch_size = 8});
    Fleet fleet(*batcher, 300);
    fleet.Launch();
    fleet.WaitForSubmitted(20 * round);
    EXPECT_TRUE(batcher->Drain(kNever).ok());
    fleet.Join();
    fleet.Check(kServed);
    ExpectCounted(*batcher, fleet.accepted_by_code());
  }
}

TEST(Storm, DrainThatGivesUpAnswersWhatIsQueued) {
  std::vector<StatusCode> legal = kServed;
  legal.push_back(StatusCode::kUnavailable);
  for (int round = 0; round < 20; ++round) {
    const auto batcher =
        MakeBatcher(MakeBackend({.lanes = 1}), {.max_batch_size = 2});
    Fleet fleet(*batcher, 100);
    fleet.Launch();
    fleet.WaitForSubmitted(10 * round);
    const absl::Status drained =
        batcher->Drain(Clock::Steady().Now() + Milliseconds(0.5));
    EXPECT_TRUE(drained.ok() || absl::IsDeadlineExceeded(drained)) << drained;
    fleet.Join();
    fleet.Check(legal);
  }
}

TEST(Storm, DestructionEndsWhatIsQueuedAndRunning) {
  std::vector<StatusCode> legal = kServed;
  legal.push_back(StatusCode::kUnavailable);
  for (int round = 0; round < 20; ++round) {
    auto batcher =
        MakeBatcher(MakeBackend({.lanes = 2}),
                    {.max_batch_size = 4, .max_undelivered_batches = 1});
    Fleet fleet(*batcher, 40);
    fleet.Launch();
    fleet.Join();
    batcher.reset();
    fleet.Check(legal);
  }
}

// Says that the device is lost when it was given a number of batches.
class BreakingBackend final : public Backend {
 public:
  explicit BreakingBackend(std::unique_ptr<Backend> inner)
      : inner_(std::move(inner)) {}
  ~BreakingBackend() override {
    if (breaker_.joinable()) {
      breaker_.join();
    }
  }

  const ModelSpec& spec() const override { return inner_->spec(); }
  int32_t lanes() const override { return inner_->lanes(); }
  int32_t slots() const override { return inner_->slots(); }
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override {
    if (++started_ == 5) {
      breaker_ = std::thread([&events] {
        events.Broken({StatusCode::kUnavailable, "device fell off the bus"});
      });
    }
    inner_->Start(std::move(batch), events);
  }

 private:
  const std::unique_ptr<Backend> inner_;
  int started_ = 0;
  std::thread breaker_;
};

TEST(Storm, LossOfTheDeviceEndsEveryCall) {
  std::vector<StatusCode> legal = kServed;
  legal.push_back(StatusCode::kUnavailable);
  for (int round = 0; round < 20; ++round) {
    const auto batcher =
        MakeBatcher(std::make_unique<BreakingBackend>(MakeBackend({})),
                    {.max_batch_size = 4});
    Fleet fleet(*batcher, 100);
    fleet.Launch();
    fleet.Join();
    fleet.Check(legal);
    EXPECT_TRUE(batcher->Drain(kNever).ok());
  }
}

// Lets one client compute at a time, in the order they asked.
class TurnGate final : public DeviceGate {
 public:
  Turn TryEnter(GateClient& client, TimePoint) override {
    MutexLock lock(mutex_);
    const bool is_next = waiting_.empty() || waiting_.front() == &client;
    if (!is_taken_ && is_next) {
      is_taken_ = true;
      if (!waiting_.empty()) {
        waiting_.pop_front();
      }
      return {.is_let_in = true};
    }
    if (std::find(waiting_.begin(), waiting_.end(), &client) ==
        waiting_.end()) {
      waiting_.push_back(&client);
    }
    return {};
  }

  void Leave(GateClient&, Duration, TimePoint) override {
    GateClient* next = nullptr;
    {
      MutexLock lock(mutex_);
      EXPECT_TRUE(is_taken_);
      is_taken_ = false;
      next = waiting_.empty() ? nullptr : waiting_.front();
    }
    if (next != nullptr) {
      next->GateFree();
    }
  }

 private:
  Mutex mutex_;
  bool is_taken_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<GateClient*> waiting_ ABSL_GUARDED_BY(mutex_);
};

template <typename Gate>
void ShareADevice(Gate& gate) {
  std::vector<std::unique_ptr<Batcher>> batchers;
  std::deque<Fleet> fleets;
  for (int i = 0; i < 3; ++i) {
    batchers.push_back(
        MakeBatcher(MakeBackend({.lanes = 1, .backend = {.gate = &gate}}),
                    {.max_batch_size = 8}));
    fleets.emplace_back(*batchers.back(), 100);
  }
  for (Fleet& fleet : fleets) {
    fleet.Launch();
  }
  for (Fleet& fleet : fleets) {
    fleet.Join();
    fleet.Check(kServed);
  }
}

TEST(Storm, SeveralBatchersShareADevice) {
  TurnGate gate;
  ShareADevice(gate);
}

TEST(Storm, SeveralBatchersShareADeviceByWeight) {
  WeightedGate gate(1);
  ShareADevice(gate);
}

// Released() submits the next call from whatever thread it came on.
TEST(Storm, CallsThatSubmitEachOtherAllEnd) {
  constexpr int kChains = 4;
  constexpr int kLinks = 150;
  std::deque<TestRequest> calls;
  const auto batcher = MakeBatcher(MakeBackend({}), {.max_batch_size = 4});
  for (int i = 0; i < kChains * kLinks; ++i) {
    TestRequest& call =
        calls.emplace_back(TestRequestOptions{.id = i, .rows = i % 3 + 1});
    if (i >= kChains) {
      TestRequest& earlier = calls[static_cast<size_t>(i - kChains)];
      earlier.completion().on_released = [&batcher, &call] {
        EXPECT_TRUE(batcher->Submit(call.request()).ok());
        if (call.id() % 5 == 0) {
          batcher->Cancel(call.request());
        }
      };
    }
  }
  for (int i = 0; i < kChains; ++i) {
    EXPECT_TRUE(batcher->Submit(calls[static_cast<size_t>(i)].request()).ok());
  }
  for (TestRequest& call : calls) {
    call.completion().WaitUntilReleased();
  }
}

}  // namespace
}  // namespace ferry
