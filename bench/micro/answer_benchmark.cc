// Measures how late a queued request is answered that expires, or is cancelled,
// while a batch runs that takes far longer: from that moment until the thread
// that waits for its future has the answer. G4 says within 1 ms
// (scripts/show.sh G4).
//
// The instance waits, as for a device, or computes, as on a processor, which
// takes a core from the threads that answer and wait.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "batcher/cpu_instance.h"
#include "batcher/future.h"
#include "batcher/sim/echo_model.h"
#include "benchmark/benchmark.h"

namespace ferry::bench {
namespace {

enum class Held { kWaits, kComputes };

ModelSpec RowSpec() {
  return {.inputs = {{"x", DataType::kFp32, {1}}},
          .outputs = {{"y", DataType::kFp32, {1}}},
          .max_batch_size = 8};
}

// Occupies its instance for as long as it is held.
class HeldModel final : public EchoModel {
 public:
  struct Hold {
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_end{false};
  };

  HeldModel(Hold& hold, Held held)
      : EchoModel(RowSpec()), hold_(hold), held_(held) {}

  Outcome Compute(const Batch& batch, OutputRef& output) override {
    hold_.has_begun = true;
    hold_.has_begun.notify_one();
    if (held_ == Held::kWaits) {
      hold_.may_end.wait(false);
    }
    while (!hold_.may_end.load(std::memory_order_relaxed)) {
    }
    return EchoModel::Compute(batch, output);
  }

 private:
  Hold& hold_;
  const Held held_;
};

// A scheduler whose only instance is held.
class HeldScheduler {
 public:
  explicit HeldScheduler(Held held) {
    std::vector<std::unique_ptr<Instance>> instances;
    instances.push_back(
        *CpuInstance::Create(std::make_unique<HeldModel>(hold_, held)));
    scheduler_ = *Scheduler::Create(std::move(instances), {});
    running_ = std::make_unique<Future>(Submit(kNever));
    hold_.has_begun.wait(false);
  }
  ~HeldScheduler() {
    hold_.may_end = true;
    hold_.may_end.notify_one();
    Check(running_->Get().outcome.ok(), "what runs is served");
  }

  Future Submit(TimePoint deadline) {
    return *Infer(*scheduler_, {.inputs = {&view_, 1}, .deadline = deadline});
  }

 private:
  HeldModel::Hold hold_;
  const float value_ = 1;
  const std::vector<int64_t> dims_ = {1};
  const ByteSegment segment_ = {reinterpret_cast<const std::byte*>(&value_),
                                sizeof(float)};
  const TensorView view_ = {.dims = dims_, .segments = {&segment_, 1}};
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Future> running_;
};

// Reports one repetition's mean, 99th percentile and maximum.
void Report(std::vector<double>& late_us, benchmark::State& state) {
  std::sort(late_us.begin(), late_us.end());
  double sum = 0;
  for (const double late : late_us) {
    sum += late;
  }
  const auto count = static_cast<double>(late_us.size());
  state.counters["late_us"] = sum / count;
  state.counters["late_p99_us"] =
      late_us[static_cast<size_t>(0.99 * (count - 1))];
  state.counters["late_max_us"] = late_us.back();
}

void BM_Expires(benchmark::State& state, Held held) {
  HeldScheduler scheduler(held);
  std::vector<double> late_us;
  for (auto _ : state) {
    const TimePoint due = Clock::Steady().Now() + Milliseconds(1);
    const Reply reply = scheduler.Submit(due).Get();
    const Duration late = Clock::Steady().Now() - due;
    Check(reply.outcome.code == absl::StatusCode::kDeadlineExceeded &&
              late >= Duration(0),
          "it expires, and not before it is due");
    late_us.push_back(static_cast<double>(late.count()) / 1e3);
  }
  Report(late_us, state);
}
BENCHMARK_CAPTURE(BM_Expires, waits, Held::kWaits)
    ->Name("expires_while_an_instance_waits/scheduler")
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Expires, computes, Held::kComputes)
    ->Name("expires_while_an_instance_computes/scheduler")
    ->UseRealTime();

void BM_IsCancelled(benchmark::State& state, Held held) {
  HeldScheduler scheduler(held);
  std::vector<double> late_us;
  for (auto _ : state) {
    Future future = scheduler.Submit(kNever);
    const TimePoint cancelled_at = Clock::Steady().Now();
    future.Cancel();
    const Reply reply = future.Get();
    const Duration late = Clock::Steady().Now() - cancelled_at;
    Check(reply.outcome.code == absl::StatusCode::kCancelled,
          "it is cancelled");
    late_us.push_back(static_cast<double>(late.count()) / 1e3);
  }
  Report(late_us, state);
}
BENCHMARK_CAPTURE(BM_IsCancelled, waits, Held::kWaits)
    ->Name("cancelled_while_an_instance_waits/scheduler")
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_IsCancelled, computes, Held::kComputes)
    ->Name("cancelled_while_an_instance_computes/scheduler")
    ->UseRealTime();

}  // namespace
}  // namespace ferry::bench

BENCHMARK_MAIN();
