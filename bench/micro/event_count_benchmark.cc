// What a wake-up costs: a Notify() that finds nobody, one that wakes the
// waiter (half of a round trip between two threads), and how late a timed wait
// ends.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>

#include "batcher/clock.h"
#include "batcher/event_count.h"

namespace ferry::bench {
namespace {

// Sleeps until `flag` is `wanted`.
void AwaitFlag(EventCount& events, const std::atomic<int>& flag, int wanted) {
  while (flag.load(std::memory_order_seq_cst) != wanted) {
    const EventCount::Key key = events.PrepareWait();
    if (flag.load(std::memory_order_seq_cst) == wanted) {
      events.CancelWait();
      return;
    }
    events.Wait(key, kNever);
  }
}

void BM_NotifyNobody(benchmark::State& state) {
  EventCount events;
  for (auto _ : state) {
    events.Notify();
  }
}
BENCHMARK(BM_NotifyNobody)->Name("notify_nobody");

void BM_WakeUpRoundTrip(benchmark::State& state) {
  constexpr int kPing = 1;
  constexpr int kPong = 2;
  constexpr int kEnd = 3;
  std::atomic<int> turn{kPong};
  EventCount to_other;
  EventCount to_us;
  std::thread other([&] {
    while (true) {
      while (turn.load(std::memory_order_seq_cst) == kPong) {
        const EventCount::Key key = to_other.PrepareWait();
        if (turn.load(std::memory_order_seq_cst) != kPong) {
          to_other.CancelWait();
          break;
        }
        to_other.Wait(key, kNever);
      }
      if (turn.load(std::memory_order_seq_cst) == kEnd) {
        return;
      }
      turn.store(kPong, std::memory_order_seq_cst);
      to_us.Notify();
    }
  });
  for (auto _ : state) {
    turn.store(kPing, std::memory_order_seq_cst);
    to_other.Notify();
    AwaitFlag(to_us, turn, kPong);
  }
  turn.store(kEnd, std::memory_order_seq_cst);
  to_other.Notify();
  other.join();
}
BENCHMARK(BM_WakeUpRoundTrip)->Name("wake_up_round_trip")->UseRealTime();

// The argument: 1 with UsePreciseTimers(), 0 without.
void BM_TimedWaitLateness(benchmark::State& state) {
  double late_us = 0;
  std::thread waiter([&] {
    if (state.range(0) == 1) {
      UsePreciseTimers();
    }
    EventCount events;
    for (auto _ : state) {
      const TimePoint until = Clock::Steady().Now() + Milliseconds(1);
      while (Clock::Steady().Now() < until) {
        events.Wait(events.PrepareWait(), until);
      }
      const Duration late = Clock::Steady().Now() - until;
      late_us += static_cast<double>(late.count()) / 1e3;
    }
  });
  waiter.join();
  state.counters["late_us"] =
      benchmark::Counter(late_us, benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_TimedWaitLateness)
    ->Name("timed_wait")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ferry::bench

BENCHMARK_MAIN();
