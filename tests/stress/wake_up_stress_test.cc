// Batcher on its own thread: wake-ups that must not be lost. What is lost
// hangs the test, because nothing else ever wakes the batcher.
#include <gtest/gtest.h>

#include <barrier>
#include <deque>
#include <thread>
#include <vector>

#include "batcher/batcher.h"
#include "batcher/host_backend.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

std::unique_ptr<Batcher> MakeEchoBatcher(
    const BatcherOptions& options,
    const HostBackendOptions& backend_options = {}) {
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(*EchoModel::Create(RowSpec()));
  auto backend = HostBackend::Create(std::move(models), backend_options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  auto batcher = Batcher::Create(*std::move(backend), options);
  EXPECT_TRUE(batcher.ok()) << batcher.status();
  return *std::move(batcher);
}

// Every producer brings one row of a batch that leaves only when it is full.
// Whoever's push comes last must wake the batcher, also if another's admission
// came after its own.
TEST(WakeUpStress, WindowLeavesWhenTheLastOfAFullBatchIsPushed) {
  constexpr int kProducers = 3;
  constexpr int kRounds = 3000;
  const auto batcher = MakeEchoBatcher({.max_batch_size = kProducers,
                                        .policy = PolicyKind::kWindow,
                                        .max_wait = Duration::max()});
  std::barrier<> all_are_here(kProducers);
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      TestRequest request({.id = p});
      for (int round = 0; round < kRounds; ++round) {
        all_are_here.arrive_and_wait();
        ASSERT_TRUE(batcher->Submit(request.request()).ok());
        request.completion().WaitUntilReleased();
        ASSERT_TRUE(request.HasOwnRows());
        request.Reset();
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
}

// Threads that tell of several requests at once and run their batches where the
// lane is idle, beside some that have each request told of.
TEST(WakeUpStress, WhatIsToldOnceForSeveralIsServedWhole) {
  constexpr int kProducers = 3;
  constexpr int kRounds = 2000;
  constexpr int kTogether = 3;
  const auto batcher = MakeEchoBatcher(
      {.max_batch_size = 4}, {.max_inline_run = std::chrono::hours(1)});
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      std::deque<TestRequest> requests;
      for (int i = 0; i < kTogether; ++i) {
        requests.emplace_back(TestRequestOptions{.id = p * kTogether + i});
      }
      for (int round = 0; round < kRounds; ++round) {
        bool is_untold = false;
        for (TestRequest& request : requests) {
          ASSERT_TRUE((p == 0 ? batcher->Submit(request.request())
                              : batcher->Submit(request.request(), is_untold))
                          .ok());
        }
        if (is_untold) {
          batcher->ServeInline();
        }
        for (TestRequest& request : requests) {
          request.completion().WaitUntilReleased();
          ASSERT_TRUE(request.HasOwnRows());
          request.Reset();
        }
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
}

// A refused producer counts as queued for a moment; if the batcher looks then,
// it must look again.
TEST(WakeUpStress, DrainEndsWhileProducersAreRefused) {
  constexpr int kProducers = 3;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const auto batcher = MakeEchoBatcher({.queue = {.requests = 2}});
    std::barrier<> all_are_here(kProducers + 1);
    std::vector<std::thread> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.emplace_back([&] {
        TestRequest request;
        all_are_here.arrive_and_wait();
        for (;;) {
          const absl::Status status = batcher->Submit(request.request());
          if (status.ok()) {
            request.completion().WaitUntilReleased();
            request.Reset();
          } else if (absl::IsUnavailable(status)) {
            return;
          }
        }
      });
    }
    all_are_here.arrive_and_wait();
    EXPECT_TRUE(batcher->Drain(kNever).ok());
    for (std::thread& producer : producers) {
      producer.join();
    }
  }
}

// A request with an earlier deadline than what the batcher waits for is
// answered by the batcher's own timer, although no slot is free.
TEST(WakeUpStress, EarlierDeadlinesWakeTheBatcher) {
  constexpr int kRounds = 100;
  // Leaves only when full, which is never.
  const auto batcher = MakeEchoBatcher({.max_batch_size = 64,
                                        .policy = PolicyKind::kWindow,
                                        .max_wait = Duration::max()});
  for (int round = 0; round < kRounds; ++round) {
    const TimePoint now = Clock::Steady().Now();
    TestRequest late({.id = 1, .deadline = now + Milliseconds(3)});
    TestRequest early({.id = 2, .deadline = now + Milliseconds(2)});
    const bool late_is_in = batcher->Submit(late.request()).ok();
    const bool early_is_in = batcher->Submit(early.request()).ok();
    for (auto [request, is_in] :
         {std::pair(&late, late_is_in), std::pair(&early, early_is_in)}) {
      if (is_in) {  // else it was late already
        request->completion().WaitUntilReleased();
        EXPECT_EQ(request->code(), absl::StatusCode::kDeadlineExceeded);
      }
    }
  }
}

}  // namespace
}  // namespace ferry
