// Tests a scheduler with a queue of one or two requests, whose producers stop
// anywhere, also between the link and the publish of a push, or after they were
// refused and before they took back what they counted. Producers that run
// cancel calls of those that stand. Each accepted call is answered once, a
// refused one never, and a drain under way ends. What is lost hangs the test: a
// full queue takes no request that could bring it back to life.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/scheduler.h"
#include "batcher/sim/echo_model.h"
#include "tests/stress/stopped_threads.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using absl::StatusCode;

constexpr size_t kProducers = 4;
constexpr size_t kCallsOfProducer = 2;
constexpr int64_t kAccepted = 6000;
constexpr int64_t kStoodInside = 50;

struct StopCase {
  const char* name;
  int32_t instances = 1;
  SchedulerOptions scheduler;
};

std::unique_ptr<Scheduler> MakeScheduler(const StopCase& stop_case) {
  std::vector<std::unique_ptr<Instance>> instances;
  for (int32_t i = 0; i < stop_case.instances; ++i) {
    instances.push_back(*CpuInstance::Create(*EchoModel::Create(RowSpec())));
  }
  auto scheduler = Scheduler::Create(std::move(instances), stop_case.scheduler);
  EXPECT_TRUE(scheduler.ok()) << scheduler.status();
  return *std::move(scheduler);
}

// Used again and again. Any producer may cancel every second one while it is
// open; the others are never due, either: lost, nothing brings them back.
struct Call {
  explicit Call(const TestRequestOptions& options) : test(options) {}

  TestRequest test;
  std::atomic<bool> is_open{false};
  std::atomic<int> cancels{0};  // under way
  bool is_accepted = false;     // and not yet seen to have ended
};

class Producers {
 public:
  explicit Producers(Scheduler& scheduler) : scheduler_(scheduler) {
    for (size_t i = 0; i < kProducers * kCallsOfProducer; ++i) {
      // Every fourth has a moment at which it is due.
      calls_.emplace_back(TestRequestOptions{
          .id = static_cast<int64_t>(i),
          .timeout = i % 4 == 3 ? Milliseconds(2) : Duration(0)});
    }
    for (size_t i = 0; i < kProducers; ++i) {
      threads_.emplace_back([this, i] {
        stopped_.Enter(i);
        Produce(i);
        stopped_.Leave(i);
        ++left_;
      });
    }
  }

  // Stops one or more for as long as some others make an attempt, unless one
  // that stands keeps them from it.
  void StopSome() {
    const size_t first = random_() % kProducers;
    for (int i = 0; i < kLooks && !is_inside_[first]; ++i) {
      std::this_thread::yield();
    }
    const size_t count = 1 + random_() % (kProducers - 1);
    for (size_t i = 0; i < count; ++i) {
      stopped_.Stop((first + i) % kProducers);
    }
    const int64_t attempts = attempts_;
    for (int i = 0; i < kLooks && attempts_ - attempts < kAttempts; ++i) {
      std::this_thread::yield();
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t producer = (first + i) % kProducers;
      stood_inside_ += stopped_.Stands(producer) && is_inside_[producer];
      stopped_.LetGoOn(producer);
    }
  }

  void Join() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  int64_t accepted() const { return accepted_; }
  int64_t ended(StatusCode code) const {
    return ended_[static_cast<size_t>(code)];
  }
  // How often one stood in Submit().
  int64_t stood_inside() const { return stood_inside_; }
  bool have_left() const { return left_ == kProducers; }

 private:
  static constexpr int kLooks = 100;
  static constexpr int64_t kAttempts = 4;

  // Submits until the scheduler takes no more; then all calls have ended.
  void Produce(size_t producer) {
    std::mt19937 random(static_cast<unsigned>(producer));
    const auto mine = [&](size_t i) -> Call& {
      return calls_[producer * kCallsOfProducer + i];
    };
    for (bool is_drained = false; !is_drained;) {
      Call& call = mine(random() % kCallsOfProducer);
      if (call.is_accepted) {
        Await(call);
      }
      is_drained = !Submit(producer, call);
      if (random() % 8 == 0) {
        Cancel(calls_[random() % calls_.size() | 1]);
      }
    }
    for (size_t i = 0; i < kCallsOfProducer; ++i) {
      if (mine(i).is_accepted) {
        Await(mine(i));
      }
    }
  }

  // False: the scheduler takes no more.
  bool Submit(size_t producer, Call& call) {
    call.is_open = true;
    is_inside_[producer] = true;
    const absl::Status status = scheduler_.Submit(call.test.request());
    is_inside_[producer] = false;
    ++attempts_;
    call.is_accepted = status.ok();
    if (status.ok()) {
      ++accepted_;
    } else {
      EXPECT_FALSE(call.test.completion().is_answered()) << "was refused";
    }
    return !absl::IsUnavailable(status);
  }

  void Await(Call& call) {
    call.test.completion().WaitUntilAnswered();
    const StatusCode code = call.test.code();
    ++ended_[static_cast<size_t>(code)];
    if (code == StatusCode::kOk) {
      EXPECT_TRUE(call.test.HasOwnRows()) << "rows of another";
    } else if (code == StatusCode::kCancelled) {
      EXPECT_TRUE(call.test.request().cancelled);
    } else {
      EXPECT_EQ(code, StatusCode::kDeadlineExceeded);
      EXPECT_NE(call.test.request().due, kNever);
    }
    call.is_accepted = false;
    // A late Cancel() would be one of its next life.
    call.is_open = false;
    while (call.cancels > 0) {
      std::this_thread::yield();
    }
    call.test.Reset();
  }

  void Cancel(Call& call) {
    ++call.cancels;
    if (call.is_open) {
      scheduler_.Cancel(call.test.request());
    }
    --call.cancels;
  }

  Scheduler& scheduler_;
  std::mt19937 random_{1};
  int64_t stood_inside_ = 0;
  std::deque<Call> calls_;
  std::array<std::atomic<bool>, kProducers> is_inside_{};  // Submit()
  std::atomic<int64_t> attempts_{0};
  std::atomic<int64_t> accepted_{0};
  std::array<std::atomic<int64_t>, kStatusCodeCount> ended_{};
  std::atomic<size_t> left_{0};
  StoppedThreads stopped_;
  std::vector<std::thread> threads_;
};

class StoppedProducersStress : public testing::TestWithParam<StopCase> {};

TEST_P(StoppedProducersStress, EachAcceptedCallEndsOnceAndADrainEnds) {
  const auto scheduler = MakeScheduler(GetParam());
  Producers producers(*scheduler);
  while (producers.accepted() < kAccepted ||
         producers.stood_inside() < kStoodInside) {
    producers.StopSome();
  }
  std::thread drain([&] { EXPECT_TRUE(scheduler->Drain(kNever).ok()); });
  while (!producers.have_left()) {
    producers.StopSome();
  }
  drain.join();
  producers.Join();
  int64_t ended = 0;
  for (size_t code = 0; code < kStatusCodeCount; ++code) {
    ended += producers.ended(static_cast<StatusCode>(code));
  }
  EXPECT_EQ(ended, producers.accepted());
  EXPECT_GT(producers.ended(StatusCode::kOk), 0);
  EXPECT_GT(producers.ended(StatusCode::kCancelled), 0);
  const SchedulerStatistics counts = scheduler->Snapshot();
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
  EXPECT_EQ(counts.queued_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Queues, StoppedProducersStress,
    testing::Values(
        StopCase{.name = "OfOne", .scheduler = {.queue = {.requests = 1}}},
        StopCase{.name = "OfTwo", .scheduler = {.queue = {.requests = 2}}},
        StopCase{.name = "OfOneForTwoInstances",
                 .instances = 2,
                 .scheduler = {.queue = {.requests = 1}}},
        StopCase{.name = "OfTwoThatWaitForCompany",
                 .scheduler = {.max_batch_size = 2,
                               .policy = PolicyKind::kWindow,
                               .max_wait = Milliseconds(0.2),
                               .queue = {.requests = 2},
                               .max_undelivered_batches = 1}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ferry
