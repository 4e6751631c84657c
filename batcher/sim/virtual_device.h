// VirtualDevice: a Backend that takes s(b) = alpha + beta * b, on a clock that
// its user moves.
//
// It computes nothing: outputs have no tensors. Hand-overs take no time.
//
// Thread safety: one thread, which also steps the batcher.
#ifndef FERRY_BATCHER_SIM_VIRTUAL_DEVICE_H_
#define FERRY_BATCHER_SIM_VIRTUAL_DEVICE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "batcher/batch_buckets.h"
#include "batcher/host_output_pool.h"
#include "batcher/sim/virtual_backend.h"

namespace ferry {

struct VirtualDeviceOptions {
  int32_t lanes = 1;
  int32_t slots_per_lane = 1;
  int32_t max_batch_size = 64;
  std::vector<int32_t> buckets = {};  // batch_buckets.h
  Duration alpha = Milliseconds(1);   // per batch
  Duration beta = Milliseconds(0.1);  // per row
  double jitter = 0;  // s(b) is multiplied by a factor in [1 - it, 1 + it]
  uint64_t seed = 1;
};

class VirtualDevice final : public VirtualBackend {
 public:
  // `clock` outlives it.
  VirtualDevice(const VirtualDeviceOptions& options, const VirtualClock& clock);
  ~VirtualDevice() override;

  const ModelSpec& spec() const override { return spec_; }
  int32_t lanes() const override { return options_.lanes; }
  int32_t slots() const override {
    return options_.lanes * options_.slots_per_lane;
  }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return warm_up_samples_;
  }
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override;

  // The next batch ends.
  TimePoint next_event() const override;
  void PlayNext() override;

  Duration busy() const override { return busy_; }
  int64_t batches() const override { return batches_; }
  int64_t rows() const override { return rows_; }

  // s(b) without jitter.
  Duration ServiceTime(int32_t rows) const {
    return options_.alpha + PaddedRows(options_.buckets, rows) * options_.beta;
  }

 private:
  struct Running {
    std::unique_ptr<Batch> batch;  // null: the lane is idle
    TimePoint end;
  };

  void BeginOn(size_t lane, std::unique_ptr<Batch> batch);
  size_t NextLane() const;

  const VirtualDeviceOptions options_;
  const VirtualClock& clock_;
  const ModelSpec spec_;
  const std::array<ServiceTimeSample, 2> warm_up_samples_;
  HostOutputPool pool_;
  std::mt19937_64 random_;
  BackendEvents* events_ = nullptr;
  std::vector<Running> on_lanes_;
  std::deque<std::unique_ptr<Batch>> waiting_;
  Duration busy_{0};
  int64_t batches_ = 0;
  int64_t rows_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_VIRTUAL_DEVICE_H_
