// NullTarget and SimulatedTarget tell what transport costs and batching does:
//
//   NullTarget        ends each call at once: what the load generator itself
//                     does
//   SimulatedTarget   Ferry's scheduler and a simulated device, without gRPC
//
// Thread safety: thread-safe.
#ifndef FERRY_BENCH_LOCAL_LOCAL_TARGETS_H_
#define FERRY_BENCH_LOCAL_LOCAL_TARGETS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/scheduler.h"
#include "batcher/sim/simulated_model.h"
#include "bench/load/target.h"
#include "bench/local/batcher_target.h"
#include "bench/local/deferred_ends.h"

namespace ferry::bench {

class NullTarget final : public Target {
 public:
  void Send(uint64_t /*number*/, Caller& caller) override {
    ends_.Add(caller, absl::StatusCode::kOk);
  }
  void CancelAll() override {}

 private:
  DeferredEnds ends_;
};

struct SimulatedTargetOptions {
  SchedulerOptions scheduler;
  SimulatedModelOptions device;
  int32_t instances = 1;
  int32_t rows = 1;         // of each request
  int32_t row_floats = 16;  // elements of a row, FP32
  Duration timeout{0};      // of each request; 0: none
};

class SimulatedTarget final : public Target {
 public:
  // Errors: those of the scheduler and the device.
  static absl::StatusOr<std::unique_ptr<SimulatedTarget>> Create(
      const SimulatedTargetOptions& options);

  void Send(uint64_t number, Caller& caller) override {
    target_->Send(number, caller);
  }
  void CancelAll() override { target_->CancelAll(); }

  Scheduler& scheduler() { return target_->scheduler(); }

 private:
  explicit SimulatedTarget(const SimulatedTargetOptions& options);

  const std::vector<int64_t> dims_;
  const std::vector<std::byte> rows_;  // zeros, that all requests bring
  const ByteSegment segment_;
  const std::vector<TensorView> inputs_;
  std::unique_ptr<BatcherTarget> target_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOCAL_LOCAL_TARGETS_H_
