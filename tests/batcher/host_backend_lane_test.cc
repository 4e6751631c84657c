// HostBackend's lanes: who delivers, and who is woken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/host_backend.h"
#include "tests/batcher/scripted_model.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

TEST(HostBackend, LaneComputesWhileRepliesOfTheLastBatchAreWritten) {
  // The first batch's delivery waits until the second batch computes.
  std::latch second_computes(1);
  int count = 0;
  auto models = OneModel([&](const Batch&) -> Outcome {
    if (++count == 2) {
      second_computes.count_down();
    }
    return {};
  });
  Events events;
  int delivered = 0;
  events.on_finished = [&] {
    if (++delivered == 1) {
      second_computes.wait();
    }
  };
  auto backend =
      MakeBackend(std::move(models),
                  {.max_inline_replies = 0, .max_inline_compute = Duration(0)});
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  events.WaitForFinished(2);
  backend.reset();
}

// Whether a batch of one request is delivered by the thread that computed it.
bool IsDeliveredInline(const HostBackendOptions& options) {
  std::thread::id computed_on;
  std::thread::id delivered_on;
  auto models = OneModel([&](const Batch&) -> Outcome {
    computed_on = std::this_thread::get_id();
    return {};
  });
  Events events;
  events.on_finished = [&] { delivered_on = std::this_thread::get_id(); };
  auto backend = MakeBackend(std::move(models), options);
  TestRequest request;
  backend->Start(BatchOf(request), events);
  events.WaitForFinished(1);
  backend.reset();
  EXPECT_EQ(events.held_lane, computed_on == delivered_on);
  return computed_on == delivered_on;
}

TEST(HostBackend, ExecutorDeliversWhereAHandOverWouldNotPay) {
  const Duration never(0);
  const Duration always = std::chrono::hours(1);
  EXPECT_FALSE(IsDeliveredInline(
      {.max_inline_replies = 0, .max_inline_compute = never}));
  EXPECT_TRUE(
      IsDeliveredInline({.max_inline_replies = 1, .max_inline_compute = never}))
      << "few replies";
  EXPECT_TRUE(IsDeliveredInline(
      {.max_inline_replies = 0, .max_inline_compute = always}))
      << "computed fast";
}

TEST(HostBackend, OneSlowBatchAmongFastOnesIsNotHandedOver) {
  FakeClock clock;
  Duration takes;
  std::thread::id computed_on;
  std::thread::id delivered_on;
  auto models = OneModel([&](const Batch&) -> Outcome {
    computed_on = std::this_thread::get_id();
    clock.Advance(takes);
    return {};
  });
  Events events;
  events.on_finished = [&] { delivered_on = std::this_thread::get_id(); };
  HostBackendOptions options;
  options.max_inline_replies = 0;
  options.clock = &clock;
  auto backend = MakeBackend(std::move(models), options);
  constexpr double kComputeMs[] = {1, 0.1, 1, 1, 1, 0.1};
  TestRequest requests[std::size(kComputeMs)];
  std::vector<bool> inline_ones;
  for (size_t i = 0; i < std::size(kComputeMs); ++i) {
    takes = Milliseconds(kComputeMs[i]);
    backend->Start(BatchOf(requests[i]), events);
    events.WaitForFinished(static_cast<int>(i) + 1);
    inline_ones.push_back(computed_on == delivered_on);
  }
  backend.reset();
  EXPECT_THAT(inline_ones,
              testing::ElementsAre(false, true, true, false, false, true));
}

TEST(HostBackend, SleepingLaneIsWokenOnceAndTellsBeforeItTakesABatch) {
  Events events;
  auto backend = MakeBackend(OneModel(), {});
  int told = 0;
  while (told == 0) {  // until the lane sleeps
    if (backend->WakeLane(events)) {
      events.lanes_awake.wait(0);
      told = events.lanes_awake;
    }
  }
  EXPECT_EQ(told, 1);
  backend.reset();
  EXPECT_EQ(events.lanes_awake, 1);
}

// Wakes the lane once it sleeps.
void WakeLane(HostBackend& backend, Events& events) {
  while (!backend.WakeLane(events)) {
    std::this_thread::yield();
  }
}

TEST(HostBackend, IdleLaneTellsAgainWhenItWasAskedTo) {
  Events events;
  events.on_lane_awake = [](int count) {
    return count < 3 ? Clock::Steady().Now() + Milliseconds(1) : kNever;
  };
  auto backend = MakeBackend(OneModel(), {});
  WakeLane(*backend, events);
  for (int count = events.lanes_awake; count < 3; count = events.lanes_awake) {
    events.lanes_awake.wait(count);
  }
  backend.reset();
  EXPECT_EQ(events.lanes_awake, 3);
  EXPECT_EQ(events.lanes_busy, 0) << "it kept every moment";
}

TEST(HostBackend, LaneThatTakesABatchSaysThatItWillNotTellAgain) {
  Events events;
  events.on_lane_awake = [](int) {
    return Clock::Steady().Now() + std::chrono::hours(1);
  };
  auto backend = MakeBackend(OneModel(), {});
  WakeLane(*backend, events);
  events.lanes_awake.wait(0);
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    backend->Start(BatchOf(request), events);
  }
  events.WaitForFinished(2);
  backend.reset();
  EXPECT_EQ(events.lanes_awake, 1);
  EXPECT_EQ(events.lanes_busy, 1) << "of the first batch";
}

TEST(HostBackend, BusyLaneIsNotWoken) {
  std::latch computes(1);
  std::latch may_end(1);
  auto models = OneModel([&](const Batch&) -> Outcome {
    computes.count_down();
    may_end.wait();
    return {};
  });
  Events events;
  auto backend = MakeBackend(std::move(models), {});
  TestRequest request;
  backend->Start(BatchOf(request), events);
  computes.wait();
  EXPECT_FALSE(backend->WakeLane(events));
  may_end.count_down();
  backend.reset();
  EXPECT_EQ(events.lanes_awake, 0);
}

}  // namespace
}  // namespace ferry
