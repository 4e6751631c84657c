// What it costs to hand a batch to a lane: on one thread, where nobody sleeps,
// and back and forth between two threads that wait for each other.
#include <concurrentqueue/blockingconcurrentqueue.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "batcher/check.h"
#include "batcher/work_queue.h"
#include "bench/micro/counted.h"

namespace ferry::bench {
namespace {

using OwnedBatch = std::unique_ptr<Batch>;

constexpr Duration kMaxPoll = std::chrono::microseconds(250);  // the default

// Pop() returns null once it is closed and empty.
class FerryQueue {
 public:
  explicit FerryQueue(Duration max_poll) : idle_(max_poll) {}
  void Push(OwnedBatch batch) { queue_.Push({.batch = std::move(batch)}); }
  OwnedBatch Pop() {
    OwnedBatch batch = queue_.Pop(idle_).batch;
    idle_.WorkEnded();
    return batch;
  }
  void Close() { queue_.Close(); }

 private:
  WorkQueue queue_;
  IdleWait idle_;  // of the thread that pops
};

class PollingQueue : public FerryQueue {
 public:
  PollingQueue() : FerryQueue(kMaxPoll) {}
};
class SleepingQueue : public FerryQueue {
 public:
  SleepingQueue() : FerryQueue(Duration(0)) {}
};

class CondVarQueue {
 public:
  void Push(OwnedBatch batch) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      batches_.push_back(std::move(batch));
    }
    changed_.notify_one();
  }
  OwnedBatch Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !batches_.empty(); });
    OwnedBatch batch = std::move(batches_.front());
    batches_.pop_front();
    return batch;
  }
  void Close() { Push(nullptr); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OwnedBatch> batches_;
};

class AbslQueue {
 public:
  void Push(OwnedBatch batch) {
    const absl::MutexLock lock(&mutex_);
    batches_.push_back(std::move(batch));
  }
  OwnedBatch Pop() {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::deque<OwnedBatch>* batches) { return !batches->empty(); },
        &batches_));
    OwnedBatch batch = std::move(batches_.front());
    batches_.pop_front();
    return batch;
  }
  void Close() { Push(nullptr); }

 private:
  absl::Mutex mutex_;
  std::deque<OwnedBatch> batches_;
};

class MoodycamelQueue {
 public:
  void Push(OwnedBatch batch) { queue_.enqueue(std::move(batch)); }
  OwnedBatch Pop() {
    OwnedBatch batch;
    queue_.wait_dequeue(batch);
    return batch;
  }
  void Close() { Push(nullptr); }

 private:
  moodycamel::BlockingConcurrentQueue<OwnedBatch> queue_;
};

template <typename Queue>
void BM_PushAndPop(benchmark::State& state) {
  Queue queue;
  auto batch = std::make_unique<Batch>(1, 1);
  const Batch* const sent = batch.get();
  for (auto _ : state) {
    queue.Push(std::move(batch));
    batch = queue.Pop();
  }
  Check(batch.get() == sent, "the batch comes out");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PushAndPop<PollingQueue>)
    ->Name("push_and_pop/work_queue")
    ->Apply(Counted);
BENCHMARK(BM_PushAndPop<CondVarQueue>)
    ->Name("push_and_pop/condition_variable_queue")
    ->Apply(Counted);
BENCHMARK(BM_PushAndPop<AbslQueue>)
    ->Name("push_and_pop/absl_condition_queue")
    ->Apply(Counted);
BENCHMARK(BM_PushAndPop<MoodycamelQueue>)
    ->Name("push_and_pop/moodycamel_blocking")
    ->Apply(Counted);

template <typename Queue>
void BM_HandOver(benchmark::State& state) {
  Queue to_lane;
  Queue back;
  std::thread lane([&] {
    while (OwnedBatch batch = to_lane.Pop()) {
      back.Push(std::move(batch));
    }
  });
  auto batch = std::make_unique<Batch>(1, 1);
  const Batch* const sent = batch.get();
  for (auto _ : state) {
    to_lane.Push(std::move(batch));
    batch = back.Pop();
  }
  to_lane.Close();
  lane.join();
  Check(batch.get() == sent, "the batch comes back");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_HandOver<PollingQueue>)
    ->Name("hand_over_round_trip/work_queue")
    ->UseRealTime();
BENCHMARK(BM_HandOver<SleepingQueue>)
    ->Name("hand_over_round_trip/work_queue_asleep")
    ->UseRealTime();
BENCHMARK(BM_HandOver<CondVarQueue>)
    ->Name("hand_over_round_trip/condition_variable_queue")
    ->UseRealTime();
BENCHMARK(BM_HandOver<AbslQueue>)
    ->Name("hand_over_round_trip/absl_condition_queue")
    ->UseRealTime();
BENCHMARK(BM_HandOver<MoodycamelQueue>)
    ->Name("hand_over_round_trip/moodycamel_blocking")
    ->UseRealTime();

}  // namespace
}  // namespace ferry::bench
