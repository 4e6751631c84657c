// Measures items per second through a queue from 1, 2, 4 and 8 producers to one
// consumer: the push list, mutex and swap, a ticket ring and moodycamel's
// (scripts/show.sh A4).
//
// A producer has 8192 items and pushes one again only after the consumer has
// had it, so the rate is that of the whole path and memory stays bounded. The
// consumer drains and then sleeps for some tens of microseconds, as the
// scheduler does between batches: one that polled would measure its own
// contention.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/load/pacer.h"
#include "bench/micro/queue_under_test.h"

namespace ferry::bench {
namespace {

constexpr uint64_t kItemsOfProducer = 8192;
constexpr Duration kBetweenDrains = std::chrono::microseconds(10);
static_assert(8 * kItemsOfProducer <= kQueueCapacity, "the ring never fills");

template <typename Queue>
class QueueHarness {
 public:
  explicit QueueHarness(size_t producers)
      : queue_(producers), consumed_(producers), producers_(producers) {
    for (size_t i = 0; i < producers; ++i) {
      producers_[i].items.resize(kItemsOfProducer);
      for (QueueItem& item : producers_[i].items) {
        item.producer = i;
      }
    }
    consumer_ = std::thread([this] { Consume(); });
  }

  // Checks that the consumer has had every item, each once.
  ~QueueHarness() {
    stop_.store(true, std::memory_order_release);
    consumer_.join();
    for (size_t i = 0; i < producers_.size(); ++i) {
      Check(consumed_[i].count.load(std::memory_order_relaxed) ==
                producers_[i].pushed,
            "the consumer has had what was pushed");
    }
  }

  void Push(size_t producer) {
    Producer& own = producers_[producer];
    while (own.pushed - own.consumed_seen == kItemsOfProducer) {
      own.consumed_seen =
          consumed_[producer].count.load(std::memory_order_acquire);
      if (own.pushed - own.consumed_seen == kItemsOfProducer) {
        std::this_thread::yield();
      }
    }
    queue_.Push(own.items[own.pushed % kItemsOfProducer], producer);
    ++own.pushed;
  }

 private:
  struct alignas(64) Producer {
    std::vector<QueueItem> items;
    uint64_t pushed = 0;
    uint64_t consumed_seen = 0;
  };
  struct alignas(64) Consumed {
    std::atomic<uint64_t> count{0};
  };

  void Consume() {
    UsePreciseTimers();
    SteadyPacer pacer;
    std::vector<uint64_t> totals(producers_.size());
    for (bool is_last = false; !is_last;) {
      is_last = stop_.load(std::memory_order_acquire);
      queue_.Drain([&](const QueueItem& item) { ++totals[item.producer]; });
      for (size_t i = 0; i < totals.size(); ++i) {
        consumed_[i].count.store(totals[i], std::memory_order_release);
      }
      pacer.SleepUntil(pacer.Now() + kBetweenDrains);
    }
  }

  Queue queue_;
  std::vector<Consumed> consumed_;
  std::vector<Producer> producers_;
  std::atomic<bool> stop_{false};
  std::thread consumer_;
};

// The threads of one benchmark share a harness. Thread 0 makes it before the
// loop and frees it after: the loop begins and ends with a barrier.
template <typename Queue>
std::unique_ptr<QueueHarness<Queue>> shared_harness;

template <typename Queue>
void BM_Queue(benchmark::State& state) {
  const auto producer = static_cast<size_t>(state.thread_index());
  if (producer == 0) {
    shared_harness<Queue> = std::make_unique<QueueHarness<Queue>>(
        static_cast<size_t>(state.threads()));
  }
  for (auto _ : state) {
    shared_harness<Queue>->Push(producer);
  }
  state.SetItemsProcessed(state.iterations());
  if (producer == 0) {
    shared_harness<Queue>.reset();
  }
}

void OfProducers(benchmark::internal::Benchmark* benchmark) {
  benchmark->ThreadRange(1, 8)->UseRealTime();
}

BENCHMARK(BM_Queue<PushListQueue<>>)
    ->Name("push/push_list")
    ->Apply(OfProducers);
BENCHMARK(BM_Queue<MutexSwapQueue<>>)
    ->Name("push/mutex_swap")
    ->Apply(OfProducers);
BENCHMARK(BM_Queue<TicketRingQueue<>>)
    ->Name("push/ticket_ring")
    ->Apply(OfProducers);
BENCHMARK(BM_Queue<MoodycamelQueue>)
    ->Name("push/moodycamel")
    ->Apply(OfProducers);

}  // namespace
}  // namespace ferry::bench

BENCHMARK_MAIN();
