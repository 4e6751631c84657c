// Tests that Scheduler with threads loses no wake-up. What is lost hangs the
// test, because nothing else ever wakes the instance.
#include <gtest/gtest.h>

#include <barrier>
#include <deque>
#include <thread>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/scheduler.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

std::unique_ptr<Scheduler> MakeEcho(const SchedulerOptions& options,
                                    int count = 1) {
  std::vector<std::unique_ptr<Instance>> instances;
  for (int i = 0; i < count; ++i) {
    instances.push_back(*CpuInstance::Create(*EchoModel::Create(RowSpec())));
  }
  auto scheduler = Scheduler::Create(std::move(instances), options);
  EXPECT_TRUE(scheduler.ok()) << scheduler.status();
  return *std::move(scheduler);
}

// Every producer brings one row of a batch that leaves only when it is full.
// The producer that pushes last must wake the scheduler, also if another's
// admission came after its own.
TEST(WakeUpStress, WindowLeavesWhenTheLastOfAFullBatchIsPushed) {
  constexpr int kProducers = 3;
  constexpr int kRounds = 3000;
  const auto scheduler = MakeEcho({.max_batch_size = kProducers,
                                   .policy = PolicyKind::kWindow,
                                   .max_wait = Duration::max()});
  std::barrier<> all_are_here(kProducers);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      TestRequest request({.id = p});
      for (int round = 0; round < kRounds; ++round) {
        all_are_here.arrive_and_wait();
        ASSERT_TRUE(scheduler->Submit(request.request()).ok());
        request.completion().WaitUntilAnswered();
        ASSERT_TRUE(request.HasOwnRows());
        request.Reset();
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
}

// Each request waits for its answer before the next: a wake-up that is lost of
// any instance, in any order of pulls, hangs.
TEST(WakeUpStress, SeveralInstancesServeProducersThatWait) {
  constexpr int kProducers = 4;
  constexpr int kRounds = 3000;
  const auto scheduler = MakeEcho({.max_batch_size = 1}, 3);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      TestRequest request({.id = p});
      for (int round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(scheduler->Submit(request.request()).ok());
        request.completion().WaitUntilAnswered();
        ASSERT_TRUE(request.HasOwnRows());
        request.Reset();
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
}

// A refused producer counts as queued for a moment; if the scheduler looks
// then, it must look again.
TEST(WakeUpStress, DrainEndsWhileProducersAreRefused) {
  constexpr int kProducers = 3;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const auto scheduler = MakeEcho({.queue = {.requests = 2}});
    std::barrier<> all_are_here(kProducers + 1);
    std::vector<std::thread> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.emplace_back([&] {
        TestRequest request;
        all_are_here.arrive_and_wait();
        for (;;) {
          const absl::Status status = scheduler->Submit(request.request());
          if (status.ok()) {
            request.completion().WaitUntilAnswered();
            request.Reset();
          } else if (absl::IsUnavailable(status)) {
            return;
          }
        }
      });
    }
    all_are_here.arrive_and_wait();
    EXPECT_TRUE(scheduler->Drain(kNever).ok());
    for (std::thread& producer : producers) {
      producer.join();
    }
  }
}

// A request with an earlier deadline than what the scheduler waits for is
// answered by the scheduler's timer, although no instance is idle.
TEST(WakeUpStress, EarlierDeadlinesWakeTheTimer) {
  constexpr int kRounds = 100;
  // Leaves only when full, which is never.
  const auto scheduler = MakeEcho({.max_batch_size = 64,
                                   .policy = PolicyKind::kWindow,
                                   .max_wait = Duration::max()});
  for (int round = 0; round < kRounds; ++round) {
    const TimePoint now = Clock::Steady().Now();
    TestRequest late({.id = 1, .deadline = now + Milliseconds(3)});
    TestRequest early({.id = 2, .deadline = now + Milliseconds(2)});
    const bool late_is_in = scheduler->Submit(late.request()).ok();
    const bool early_is_in = scheduler->Submit(early.request()).ok();
    for (auto [request, is_in] :
         {std::pair(&late, late_is_in), std::pair(&early, early_is_in)}) {
      if (is_in) {  // else it was late already
        request->completion().WaitUntilAnswered();
        EXPECT_EQ(request->code(), absl::StatusCode::kDeadlineExceeded);
      }
    }
  }
}

}  // namespace
}  // namespace ferry
