// Measures what a wake-up costs: a Notify() with no waiter, a round trip
// between two threads, each of which wakes the other, and how late a timed wait
// ends.
#include <time.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/event_count.h"
#include "bench/micro/auto_event.h"
#include "bench/micro/counted.h"

namespace ferry::bench {
namespace {

template <typename Event>
void BM_NotifyNobody(benchmark::State& state) {
  Event event;
  for (auto _ : state) {
    event.Notify();
  }
  event.Await();  // it is set, so this does not wait
}
BENCHMARK(BM_NotifyNobody<EventCountEvent>)
    ->Name("notify_nobody/event_count")
    ->Apply(Counted);
BENCHMARK(BM_NotifyNobody<ConditionVariableEvent>)
    ->Name("notify_nobody/condition_variable")
    ->Apply(Counted);
BENCHMARK(BM_NotifyNobody<AbslCondVarEvent>)
    ->Name("notify_nobody/absl_cond_var")
    ->Apply(Counted);
BENCHMARK(BM_NotifyNobody<AtomicWaitEvent>)
    ->Name("notify_nobody/atomic_wait")
    ->Apply(Counted);
BENCHMARK(BM_NotifyNobody<LightweightSemaphoreEvent>)
    ->Name("notify_nobody/moodycamel_semaphore")
    ->Apply(Counted);
BENCHMARK(BM_NotifyNobody<FutexEvent>)->Name("notify_nobody/futex");

template <typename Event>
void BM_WakeUpRoundTrip(benchmark::State& state) {
  Event to_other;
  Event to_us;
  bool is_over = false;  // written before the last Notify()
  int64_t answered = 0;  // the other thread's until it is joined
  std::thread other([&] {
    while (true) {
      to_other.Await();
      if (is_over) {
        return;
      }
      ++answered;
      to_us.Notify();
    }
  });
  for (auto _ : state) {
    to_other.Notify();
    to_us.Await();
  }
  is_over = true;
  to_other.Notify();
  other.join();
  Check(answered == static_cast<int64_t>(state.iterations()),
        "each wake-up is answered once");
}
BENCHMARK(BM_WakeUpRoundTrip<EventCountEvent>)
    ->Name("wake_up_round_trip/event_count")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<ConditionVariableEvent>)
    ->Name("wake_up_round_trip/condition_variable")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<AbslCondVarEvent>)
    ->Name("wake_up_round_trip/absl_cond_var")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<AbslNotificationEvent>)
    ->Name("wake_up_round_trip/absl_notification")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<AtomicWaitEvent>)
    ->Name("wake_up_round_trip/atomic_wait")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<SemaphoreEvent>)
    ->Name("wake_up_round_trip/binary_semaphore")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<LightweightSemaphoreEvent>)
    ->Name("wake_up_round_trip/moodycamel_semaphore")
    ->UseRealTime();
BENCHMARK(BM_WakeUpRoundTrip<FutexEvent>)
    ->Name("wake_up_round_trip/futex")
    ->UseRealTime();

class EventCountTimer {
 public:
  void SleepUntil(TimePoint until) {
    events_.Wait(events_.PrepareWait(), until);
  }

 private:
  EventCount events_;
};

class ConditionVariableTimer {
 public:
  void SleepUntil(TimePoint until) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_until(lock, until);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class NanosleepTimer {
 public:
  void SleepUntil(TimePoint until) {
    constexpr int64_t kPerSecond = 1'000'000'000;
    timespec at{};
    at.tv_sec = static_cast<time_t>(ToNanos(until) / kPerSecond);
    at.tv_nsec = static_cast<long>(ToNanos(until) % kPerSecond);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
};

enum class Timers { kDefault, kPrecise };

// Sleeps for 1 ms each time. The precision of timers is a thread's own.
template <typename Timer, Timers kTimers>
void BM_TimedWait(benchmark::State& state) {
  double late_us = 0;
  std::thread waiter([&] {
    if (kTimers == Timers::kPrecise) {
      UsePreciseTimers();
    }
    Timer timer;
    for (auto _ : state) {
      const TimePoint until = Clock::Steady().Now() + Milliseconds(1);
      TimePoint now = until - Milliseconds(1);
      while (now < until) {
        timer.SleepUntil(until);
        now = Clock::Steady().Now();
      }
      late_us += static_cast<double>((now - until).count()) / 1e3;
    }
  });
  waiter.join();
  Check(late_us >= 0, "no wait ends before its time");
  state.counters["late_us"] =
      benchmark::Counter(late_us, benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_TimedWait<EventCountTimer, Timers::kPrecise>)
    ->Name("timed_wait/event_count")
    ->UseRealTime();
BENCHMARK(BM_TimedWait<EventCountTimer, Timers::kDefault>)
    ->Name("timed_wait/event_count_default_slack")
    ->UseRealTime();
BENCHMARK(BM_TimedWait<ConditionVariableTimer, Timers::kPrecise>)
    ->Name("timed_wait/condition_variable")
    ->UseRealTime();
BENCHMARK(BM_TimedWait<NanosleepTimer, Timers::kPrecise>)
    ->Name("timed_wait/clock_nanosleep")
    ->UseRealTime();

}  // namespace
}  // namespace ferry::bench
