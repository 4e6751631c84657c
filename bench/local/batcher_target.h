// BatcherTarget makes Ferry's scheduler in this process a Target, whatever it
// computes with; BatcherCounters tells what it has counted. No gRPC.
//
// Thread safety: thread-safe.
#ifndef FERRY_BENCH_LOCAL_BATCHER_TARGET_H_
#define FERRY_BENCH_LOCAL_BATCHER_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "batcher/scheduler.h"
#include "bench/client/counter_source.h"
#include "bench/load/target.h"
#include "bench/local/deferred_ends.h"
#include "tensor/tensor.h"

namespace ferry::bench {

// What a request brings, as InferRequest has it. Requests that are under way at
// one time may share it.
struct RequestInputs {
  absl::Span<const TensorView> inputs;
  int32_t rows = 1;
  size_t bytes = 0;
  uint64_t shape_key = 0;
};

class BatcherTarget final : public Target {
 public:
  struct Options {
    Duration timeout{0};  // of each request; 0: none
    int32_t level = 0;    // of priority
  };

  // Sends request n % size. What `requests`, one at least, point to outlives
  // it. REQUIRES: they fit the scheduler's spec, and 0 <= level.
  BatcherTarget(std::unique_ptr<Scheduler> scheduler,
                std::vector<RequestInputs> requests, const Options& options);

  ~BatcherTarget() override;

  void Send(uint64_t number, Caller& caller) override;
  void CancelAll() override;

  Scheduler& scheduler() { return *scheduler_; }

 private:
  class Call;

  Call& Take();
  void Return(Call& call);

  const std::vector<RequestInputs> requests_;
  const Options options_;
  std::unique_ptr<Scheduler> scheduler_;
  DeferredEnds refused_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call*> idle_ ABSL_GUARDED_BY(mutex_);
};

// What a scheduler has counted, in the words of ModelStatistics.
class BatcherCounters final : public CounterSource {
 public:
  // Both, of which `device` may be null, outlive it.
  explicit BatcherCounters(const Scheduler& scheduler,
                           DeviceSource* device = nullptr)
      : scheduler_(scheduler), device_(device) {}

  ServerCounters Read() const override;
  DeviceSource* device() const override { return device_; }

  int32_t instances() const;

 private:
  const Scheduler& scheduler_;
  DeviceSource* const device_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOCAL_BATCHER_TARGET_H_
