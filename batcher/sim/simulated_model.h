// SimulatedModel is an echo that takes s(b) = alpha + beta * b for a batch of b
// rows, with jitter, and fails, hangs or crashes on demand. It is a device of
// known speed for tests and for measuring the scheduler; what is measured on it
// is marked as simulated.
//
// Thread safety: that of CpuModel.
#ifndef FERRY_BATCHER_SIM_SIMULATED_MODEL_H_
#define FERRY_BATCHER_SIM_SIMULATED_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/event_count.h"
#include "batcher/sim/echo_model.h"

namespace ferry {

struct SimulatedModelOptions {
  Duration alpha = Milliseconds(1);   // per batch
  Duration beta = Milliseconds(0.1);  // per row
  std::vector<int32_t> buckets = {};  // batch_buckets.h
  // Service time is multiplied by a uniform factor in [1 - jitter, 1 + jitter].
  double jitter = 0;        // 0 <= jitter < 1
  int64_t fail_every = 0;   // each n-th batch fails; 0: none does
  int64_t throw_every = 0;  // likewise: throws
  int64_t hang_every = 0;   // never ends
  int64_t abort_every = 0;  // ends the process
  uint64_t seed = 1;
};

class SimulatedModel final : public EchoModel {
 public:
  // INVALID_ARGUMENT for options out of range, and for what EchoModel refuses.
  static absl::StatusOr<std::unique_ptr<SimulatedModel>> Create(
      ModelSpec spec, const SimulatedModelOptions& options);

  // s(b) of one row and of the largest batch, without jitter.
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return warm_up_samples_;
  }
  Outcome Compute(const Batch& batch, OutputRef& output) override;

 private:
  SimulatedModel(ModelSpec spec, const SimulatedModelOptions& options);

  Duration ServiceTime(int32_t rows);
  // Whether the batch that is computed is one of each n.
  bool IsOneOf(int64_t n) const { return n > 0 && batch_count_ % n == 0; }

  const SimulatedModelOptions options_;
  const std::array<ServiceTimeSample, 2> warm_up_samples_;
  std::mt19937_64 random_;
  int64_t batch_count_ = 0;
  EventCount never_notified_;  // to wait on until a moment
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_SIMULATED_MODEL_H_
