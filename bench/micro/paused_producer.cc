// paused-producer measures how long other producers' items take to reach the
// consumer while one producer is stopped in the middle of its push.
//
// The stopped producer stands between link and publish (push list), between
// drawing its ticket and filling the slot (ticket ring), or inside the critical
// section (mutex and swap), as a descheduled thread would. The others push at a
// steady pace and wake the consumer as Ferry's producers wake the scheduler.
// Prints JSON: per queue, latencies with and without the pause.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/event_count.h"
#include "bench/load/latency_histogram.h"
#include "bench/load/pacer.h"
#include "bench/micro/queue_under_test.h"
#include "flags/value_checks.h"

namespace ferry::bench {
namespace {

struct ExperimentOptions {
  int producers = 3;  // besides the paused one
  double pause_ms = 200;
  double gap_us = 500;  // between the pushes of one producer
  int rounds = 5;
};

// How long the calling thread stops in its next push.
thread_local Duration pause_of_this_thread{0};

struct TestingOnlyPause {
  void operator()() const {
    if (pause_of_this_thread > Duration::zero()) {
      SteadyPacer pacer;
      pacer.SleepUntil(pacer.Now() + pause_of_this_thread);
    }
  }
};

template <typename Queue>
class Experiment {
 public:
  explicit Experiment(const ExperimentOptions& options)
      : options_(options), queue_(static_cast<size_t>(options.producers) + 1) {}

  // Returns the latencies of the other producers' items.
  const LatencyHistogram& Run(Duration pause) {
    std::thread consumer([this] { Consume(); });
    for (int round = 0; round < options_.rounds; ++round) {
      RunRound(pause);
    }
    is_done_.store(true, std::memory_order_seq_cst);
    events_.Notify();
    consumer.join();
    return latency_;
  }

 private:
  void RunRound(Duration pause) {
    const auto others = static_cast<size_t>(options_.producers);
    QueueItem paused_item;
    paused_item.producer = others;
    const size_t count =
        static_cast<size_t>(options_.pause_ms * 1e3 / options_.gap_us);
    std::vector<std::vector<QueueItem>> items(others);
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      pause_of_this_thread = pause;
      queue_.Push(paused_item, others);
      events_.Notify();
    });
    for (size_t i = 0; i < others; ++i) {
      items[i].resize(count);
      threads.emplace_back([this, i, &own = items[i]] { PushPaced(i, own); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    SteadyPacer pacer;
    const uint64_t pushed = count * others + 1;
    while (taken_.load(std::memory_order_acquire) < pushed) {
      pacer.SleepUntil(pacer.Now() + Milliseconds(1));
    }
    taken_.store(0, std::memory_order_relaxed);
  }

  void PushPaced(size_t producer, std::vector<QueueItem>& items) {
    SteadyPacer pacer;
    TimePoint next = pacer.Now();
    for (QueueItem& item : items) {
      next += Milliseconds(options_.gap_us / 1e3);
      // What the last push held up counts as waiting since its planned time.
      const bool is_held_up = pacer.Now() >= next;
      pacer.SleepUntil(next);
      item.producer = producer;
      item.pushed_ns = ToNanos(is_held_up ? next : pacer.Now());
      queue_.Push(item, producer);
      events_.Notify();
    }
  }

  // Does what the scheduler does: takes everything, else sleeps until notified.
  void Consume() {
    while (!is_done_.load(std::memory_order_seq_cst)) {
      if (TakeAll() > 0) {
        continue;
      }
      const EventCount::Key key = events_.PrepareWait();
      if (TakeAll() > 0 || is_done_.load(std::memory_order_seq_cst)) {
        events_.CancelWait();
        continue;
      }
      events_.Wait(key, kNever);
    }
  }

  uint64_t TakeAll() {
    uint64_t count = 0;
    queue_.Drain([&](const QueueItem& item) {
      ++count;
      if (item.producer < static_cast<size_t>(options_.producers)) {
        RecordLatency(latency_,
                      Clock::Steady().Now() - FromNanos(item.pushed_ns));
      }
    });
    taken_.fetch_add(count, std::memory_order_release);
    return count;
  }

  const ExperimentOptions options_;
  Queue queue_;
  EventCount events_;
  LatencyHistogram latency_;  // consumer only, until it is joined
  std::atomic<uint64_t> taken_{0};
  std::atomic<bool> is_done_{false};
};

nlohmann::ordered_json ToJson(const LatencyHistogram& latency) {
  const auto ms = [](uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  return {{"items", latency.count()},
          {"p50_ms", ms(latency.Quantile(0.5))},
          {"p99_ms", ms(latency.Quantile(0.99))},
          {"p999_ms", ms(latency.Quantile(0.999))},
          {"max_ms", ms(latency.max())},
          {"over_1_ms", latency.count() - latency.CountAtOrBelow(1000000)}};
}

template <typename Queue>
nlohmann::ordered_json Compare(const ExperimentOptions& options) {
  Experiment<Queue> calm(options);
  Experiment<Queue> paused(options);
  return {{"without_pause", ToJson(calm.Run(Duration::zero()))},
          {"with_pause", ToJson(paused.Run(Milliseconds(options.pause_ms)))}};
}

int RunAll(const ExperimentOptions& options) {
  const nlohmann::ordered_json result = {
      {"producers", options.producers},
      {"pause_ms", options.pause_ms},
      {"gap_us", options.gap_us},
      {"rounds", options.rounds},
      {"push_list", Compare<PushListQueue<TestingOnlyPause>>(options)},
      {"ticket_ring", Compare<TicketRingQueue<TestingOnlyPause>>(options)},
      {"mutex_swap", Compare<MutexSwapQueue<TestingOnlyPause>>(options)}};
  std::printf("%s\n", result.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace ferry::bench

int main(int argc, char** argv) {
  ferry::UsePreciseTimers();
  ferry::bench::ExperimentOptions options;
  CLI::App app{
      "paused-producer: what one stopped producer does to the others' items"};
  app.add_option("--producers", options.producers, "besides the paused one")
      ->check(ferry::IntegerFrom(1, 64))
      ->capture_default_str();
  app.add_option("--pause-ms", options.pause_ms, "length of each pause")
      ->check(ferry::NumberFrom(1.0, 1e4))
      ->capture_default_str();
  app.add_option("--gap-us", options.gap_us, "between pushes of a producer")
      ->check(ferry::NumberFrom(10.0, 1e6))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "pauses")
      ->check(ferry::IntegerFrom(1, 10000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return ferry::bench::RunAll(options);
}
