// Measures what a request and a batch cost in the scheduler beside its queue:
// admission, a policy's decision, learning how long batches take, and when the
// next could be answered.
#include <cstdint>
#include <mutex>
#include <variant>

#include "base/check.h"
#include "batcher/admission.h"
#include "batcher/batch_policy.h"
#include "batcher/service_time_model.h"
#include "batcher/wait_estimate.h"
#include "bench/micro/counted.h"

namespace ferry::bench {
namespace {

class AtomicAdmission {
 public:
  bool TryAdmit(size_t bytes) {
    return admission_.TryAdmit(0, 1, 1, bytes) == Admission::Verdict::kAdmitted;
  }
  void Leave(size_t bytes) {
    admission_.LeaveQueue(1, 1);
    admission_.ReleaseBytes(bytes);
  }
  int32_t requests() const { return admission_.requests(); }

 private:
  Admission admission_{QueueBounds(), 1};
};

// The same bounds under a lock.
class MutexAdmission {
 public:
  bool TryAdmit(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto more = static_cast<int64_t>(bytes);
    if (requests_ + 1 > bounds_.requests || rows_ + 1 > bounds_.rows ||
        bytes_ + more > bounds_.bytes) {
      return false;
    }
    ++requests_;
    ++rows_;
    bytes_ += more;
    return true;
  }
  void Leave(size_t bytes) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      --requests_;
      --rows_;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_ -= static_cast<int64_t>(bytes);
  }
  int32_t requests() const { return requests_; }

 private:
  const QueueBounds bounds_;
  std::mutex mutex_;
  int32_t requests_ = 0;
  int32_t rows_ = 0;
  int64_t bytes_ = 0;
};

// Shared by the threads of one benchmark.
template <typename A>
A& SharedAdmission() {
  static A* const admission = new A();
  return *admission;
}

template <typename A>
void BM_Admit(benchmark::State& state) {
  constexpr size_t kBytes = 1024;
  A& admission = SharedAdmission<A>();
  int64_t admitted = 0;
  for (auto _ : state) {
    admitted += admission.TryAdmit(kBytes) ? 1 : 0;
    admission.Leave(kBytes);
  }
  Check(admitted == static_cast<int64_t>(state.iterations()),
        "a queue that is not full admits");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Admit<AtomicAdmission>)->Name("admit/admission")->Apply(Counted);
BENCHMARK(BM_Admit<MutexAdmission>)->Name("admit/mutex")->Apply(Counted);
BENCHMARK(BM_Admit<AtomicAdmission>)
    ->Name("admit_by_2_threads/admission")
    ->Threads(2)
    ->UseRealTime();
BENCHMARK(BM_Admit<MutexAdmission>)
    ->Name("admit_by_2_threads/mutex")
    ->Threads(2)
    ->UseRealTime();

// Rows from 0 to 63 and an idle instance beside those that are odd, twice:
// `expected` is how often that is a batch. The rate needs 34 rows a batch, and
// the window does not end.
void BM_Decide(benchmark::State& state, PolicyKind kind, int expected) {
  const BatchPolicy& policy = GetPolicy(kind);
  QueueState queue;
  queue.max_batch_size = 64;
  queue.max_wait = Milliseconds(5);
  queue.oldest_arrival = FromNanos(1);
  InstanceState instance;
  const Forecast forecast = {.rows_per_ns = 5e-6,
                             .service = {.alpha_ns = 4e6, .beta_ns = 2e4}};
  uint32_t turn = 0;
  const auto decide = [&] {
    queue.rows = static_cast<int32_t>(++turn & 63);
    instance.ready_at = (turn & 1) != 0 ? TimePoint() : kNever;
    return policy.Decide(queue, instance, forecast, FromNanos(turn & 0xFFFF));
  };
  int dispatched = 0;
  for (int i = 0; i < 128; ++i) {
    dispatched += std::holds_alternative<Dispatch>(decide()) ? 1 : 0;
  }
  Check(dispatched == expected, "the policy decides as it is meant to");
  for (auto _ : state) {
    benchmark::DoNotOptimize(decide());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_Decide, eager, PolicyKind::kEager, 64)
    ->Name("decide/eager")
    ->Apply(Counted);
BENCHMARK_CAPTURE(BM_Decide, window, PolicyKind::kWindow, 0)
    ->Name("decide/window")
    ->Apply(Counted);
BENCHMARK_CAPTURE(BM_Decide, adaptive, PolicyKind::kAdaptive, 30)
    ->Name("decide/adaptive")
    ->Apply(Counted);

constexpr int32_t kMaxRows = 64;

// 2 ms and 50 us a row, up and down by as much as 1/64.
ServiceTimeSample SampleOf(int turn) {
  const int32_t rows = 1 + turn * 7 % kMaxRows;
  const int64_t ns = 2'000'000 + 50'000 * int64_t{rows};
  const int64_t noise = ns / 64 * (turn % 5 - 2) / 2;
  return {.rows = rows, .took = Duration(ns + noise)};
}

ServiceTimeModel LearnedModel() {
  ServiceTimeModel model(kMaxRows);
  for (int turn = 0; turn < 10'000; ++turn) {
    model.Learn(SampleOf(turn));
  }
  const ServiceTimeLine line = model.line();
  Check(line.alpha_ns > 1.9e6 && line.alpha_ns < 2.1e6 &&
            line.beta_ns > 4.8e4 && line.beta_ns < 5.2e4,
        "the model finds the line that it was shown");
  return model;
}

void BM_Learn(benchmark::State& state) {
  ServiceTimeModel model = LearnedModel();
  int turn = 0;
  for (auto _ : state) {
    model.Learn(SampleOf(++turn & 0xFFF));
  }
  Check(model.drift_count() == 0, "a steady device does not drift");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Learn)->Name("learn/service_time_model")->Apply(Counted);

void BM_Expect(benchmark::State& state) {
  const ServiceTimeModel model = LearnedModel();
  int32_t rows = 0;
  for (auto _ : state) {
    rows = rows % kMaxRows + 1;
    benchmark::DoNotOptimize(model.Bound(rows));
  }
  Check(model.Bound(1) > Milliseconds(1), "the bound is not below the time");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Expect)->Name("expect/service_time_model")->Apply(Counted);

void BM_FinishOf(benchmark::State& state) {
  WaitEstimate estimate;
  WaitEstimate::Queue queue;
  const TimePoint now = FromNanos(1'000'000'000);
  queue.full_rows = kMaxRows;
  queue.full_batch = Milliseconds(5);
  queue.own = {.one_row = Milliseconds(2), .full = Milliseconds(5)};
  queue.free_at = now + Milliseconds(3);
  queue.valid_until = now + Milliseconds(100);
  estimate.Publish(queue, {});
  WaitEstimate::Ahead ahead{.rows_of_level = 200, .rows_up_to_level = 200};
  Check(estimate.FinishOf({.rows = 1}, ahead, now) > now + Milliseconds(3),
        "what comes after 200 rows waits for them");
  for (auto _ : state) {
    ahead.rows_of_level = ahead.rows_up_to_level =
        (ahead.rows_of_level + 1) & 255;
    benchmark::DoNotOptimize(estimate.FinishOf({.rows = 1}, ahead, now));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_FinishOf)->Name("forecast/wait_estimate")->Apply(Counted);

}  // namespace
}  // namespace ferry::bench
