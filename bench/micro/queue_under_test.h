// PushListQueue and its like give one interface to the queues that claim
// A4 compares: many producers push pointers to items, one consumer drains them.
//
// Thread safety: Push() from any thread with its own producer index, Drain()
// from one.
#ifndef FERRY_BENCH_MICRO_QUEUE_UNDER_TEST_H_
#define FERRY_BENCH_MICRO_QUEUE_UNDER_TEST_H_

#include <concurrentqueue/concurrentqueue.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/push_list.h"
#include "bench/micro/ticket_ring.h"

namespace ferry::bench {

struct QueueItem {
  QueueItem* next = nullptr;
  int64_t pushed_ns = 0;
  size_t producer = 0;
};

// More than are ever queued: what is bounded here never says it is full.
inline constexpr size_t kQueueCapacity = size_t{1} << 16;

template <typename Pause = NoPause>
class PushListQueue {
 public:
  explicit PushListQueue(size_t /*producers*/) {}
  void Push(QueueItem& item, size_t /*producer*/) { list_.Push(item); }

  template <typename OnItem>
  void Drain(const OnItem& on_item) {
    for (QueueItem* item = list_.TakeAll(); item != nullptr;) {
      QueueItem* const next = item->next;
      on_item(*item);
      item = next;
    }
  }

 private:
  PushList<QueueItem, &QueueItem::next, Pause> list_;
};

template <typename Pause = NoPause>
class MutexSwapQueue {
 public:
  explicit MutexSwapQueue(size_t /*producers*/) {
    pushed_.reserve(kQueueCapacity);
    taken_.reserve(kQueueCapacity);
  }

  void Push(QueueItem& item, size_t /*producer*/) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Pause()();
    pushed_.push_back(&item);
  }

  template <typename OnItem>
  void Drain(const OnItem& on_item) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      pushed_.swap(taken_);
    }
    for (QueueItem* const item : taken_) {
      on_item(*item);
    }
    taken_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<QueueItem*> pushed_;
  std::vector<QueueItem*> taken_;  // consumer only
};

template <typename Pause = NoPause>
class TicketRingQueue {
 public:
  explicit TicketRingQueue(size_t /*producers*/) : ring_(kQueueCapacity) {}
  void Push(QueueItem& item, size_t /*producer*/) { ring_.TryPush(&item); }

  template <typename OnItem>
  void Drain(const OnItem& on_item) {
    while (QueueItem* const item = ring_.TryPop()) {
      on_item(*item);
    }
  }

 private:
  TicketRing<QueueItem, Pause> ring_;
};

// moodycamel's, with a token for each producer and one for the consumer.
class MoodycamelQueue {
 public:
  explicit MoodycamelQueue(size_t producers)
      : queue_(kQueueCapacity), consumer_(queue_) {
    for (size_t i = 0; i < producers; ++i) {
      tokens_.emplace_back(queue_);
    }
  }

  void Push(QueueItem& item, size_t producer) {
    queue_.enqueue(tokens_[producer], &item);
  }

  template <typename OnItem>
  void Drain(const OnItem& on_item) {
    QueueItem* items[256];
    while (const size_t count =
               queue_.try_dequeue_bulk(consumer_, items, std::size(items))) {
      for (size_t i = 0; i < count; ++i) {
        on_item(*items[i]);
      }
    }
  }

 private:
  moodycamel::ConcurrentQueue<QueueItem*> queue_;
  moodycamel::ConsumerToken consumer_;
  std::vector<moodycamel::ProducerToken> tokens_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_QUEUE_UNDER_TEST_H_
