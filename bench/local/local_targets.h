// Targets in this process, to tell what transport costs and what batching does:
//
//   NullTarget      ends each call at once: what the load generator itself does
//   BatcherTarget   Ferry's batcher and a simulated device, without gRPC
//
// Thread safety: thread-safe.
#ifndef FERRY_BENCH_LOCAL_LOCAL_TARGETS_H_
#define FERRY_BENCH_LOCAL_LOCAL_TARGETS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "batcher/batcher.h"
#include "batcher/mutex.h"
#include "batcher/sim/simulated_model.h"
#include "bench/load/target.h"
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

struct BatcherTargetOptions {
  BatcherOptions batcher;
  SimulatedModelOptions device;
  int32_t lanes = 1;
  int32_t rows = 1;         // of each request
  int32_t row_floats = 16;  // elements of a row, FP32
  Duration timeout{0};      // of each request; 0: none
};

class BatcherTarget final : public Target {
 public:
  // Errors: those of the batcher and the device.
  static absl::StatusOr<std::unique_ptr<BatcherTarget>> Create(
      const BatcherTargetOptions& options);

  ~BatcherTarget() override;

  void Send(uint64_t number, Caller& caller) override;
  void CancelAll() override;

  // What it has counted so far.
  BatcherStatistics Statistics() { return batcher_->Snapshot(); }

 private:
  class Call;

  explicit BatcherTarget(const BatcherTargetOptions& options);

  Call& Take();
  void Return(Call& call);

  const BatcherTargetOptions options_;
  const std::vector<int64_t> dims_;
  const std::vector<std::byte> rows_;  // zeros, that all requests bring
  std::unique_ptr<Batcher> batcher_;
  DeferredEnds refused_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call*> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOCAL_LOCAL_TARGETS_H_
