// Measures what it costs to keep queued requests by their deadlines: in the
// heap of queue positions, std::set, absl::btree_set and a std::priority_queue
// that forgets late.
//
// A request leaves and one comes, so that as many are held all the time, and
// the one due first is looked at, as the batcher does. The oldest one leaves,
// which is served, or the one due first, which expires. The priority queue
// holds the served ones until they would have been due.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "bench/micro/counted.h"
#include "bench/micro/deadline_set.h"
#include "bench/micro/latency_stream.h"

namespace ferry::bench {
namespace {

enum class Leaves { kOldest, kDueFirst };

// Requests that come every microsecond, with one of three timeouts and some
// microseconds of the way here. No two of 1000 requests are due at once.
template <typename Set>
class Queue {
 public:
  explicit Queue(size_t size)
      : size_(size), requests_(new InferRequest[size]), set_(size) {
    for (size_t i = 0; i < size; ++i) {
      Arrive(requests_[i]);
    }
  }

  void Step(Leaves leaves) {
    InferRequest& left =
        leaves == Leaves::kOldest ? requests_[oldest_] : *set_.earliest();
    oldest_ = oldest_ + 1 == size_ ? 0 : oldest_ + 1;
    set_.Remove(left);
    Arrive(left);
  }

  InferRequest* earliest() { return set_.earliest(); }

 private:
  void Arrive(InferRequest& request) {
    static constexpr std::array<int64_t, 4> kTimeoutsNs = {
        10'000'000, 50'000'000, 50'000'000, 1'000'000'000};
    const uint64_t random = random_.Next();
    now_ns_ += 1000;
    request.due =
        FromNanos(now_ns_ + kTimeoutsNs[random & 3] +
                  static_cast<int64_t>(random >> 2 & 0xFF) * 1000 +
                  // Below a microsecond stands which one it is.
                  static_cast<int64_t>(&request - requests_.get()) % 1000);
    set_.Insert(request);
  }

  const size_t size_;
  const std::unique_ptr<InferRequest[]> requests_;
  size_t oldest_ = 0;
  int64_t now_ns_ = 0;
  LatencyStream random_;
  Set set_;
};

// Returns a number made of the requests due first over many steps.
template <typename Set>
uint64_t Trace(size_t size, Leaves leaves) {
  Queue<Set> queue(size);
  uint64_t trace = 0;
  for (int i = 0; i < 2000; ++i) {
    queue.Step(leaves);
    trace = trace * 31 + static_cast<uint64_t>(ToNanos(queue.earliest()->due));
  }
  return trace;
}

template <typename Set, Leaves kLeaves>
void BM_Replace(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Check(Trace<Set>(64, kLeaves) == Trace<StdSet>(64, kLeaves),
        "every kind says the same of who is due first");
  Queue<Set> queue(size);
  for (auto _ : state) {
    queue.Step(kLeaves);
    benchmark::DoNotOptimize(queue.earliest());
  }
  state.SetItemsProcessed(state.iterations());
}

void OfSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(64)->Arg(512)->Arg(4096)->Apply(Counted);
}

BENCHMARK(BM_Replace<HeapOfPlaces, Leaves::kOldest>)
    ->Name("serve_oldest/deadline_heap")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<StdSet, Leaves::kOldest>)
    ->Name("serve_oldest/std_set")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<AbslBtreeSet, Leaves::kOldest>)
    ->Name("serve_oldest/absl_btree_set")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<LazyPriorityQueue, Leaves::kOldest>)
    ->Name("serve_oldest/lazy_priority_queue")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<HeapOfPlaces, Leaves::kDueFirst>)
    ->Name("expire_first/deadline_heap")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<StdSet, Leaves::kDueFirst>)
    ->Name("expire_first/std_set")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<AbslBtreeSet, Leaves::kDueFirst>)
    ->Name("expire_first/absl_btree_set")
    ->Apply(OfSizes);
BENCHMARK(BM_Replace<LazyPriorityQueue, Leaves::kDueFirst>)
    ->Name("expire_first/lazy_priority_queue")
    ->Apply(OfSizes);

}  // namespace
}  // namespace ferry::bench
