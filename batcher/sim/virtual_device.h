// VirtualDevice takes s(b) = alpha + beta * b for a batch of b rows, in several
// instances, on a clock that its user moves.
//
// It computes nothing: outputs have no tensors. Hand-overs take no time.
//
// Thread safety: one thread.
#ifndef FERRY_BATCHER_SIM_VIRTUAL_DEVICE_H_
#define FERRY_BATCHER_SIM_VIRTUAL_DEVICE_H_

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "batcher/batch_buckets.h"
#include "batcher/sim/virtual_instances.h"
#include "tensor/host_output_pool.h"

namespace ferry {

struct VirtualDeviceOptions {
  int32_t instances = 1;
  int32_t max_in_flight = 1;  // batches of an instance
  int32_t max_batch_size = 64;
  std::vector<int32_t> buckets = {};  // batch_buckets.h
  Duration alpha = Milliseconds(1);   // per batch
  Duration beta = Milliseconds(0.1);  // per row
  double jitter = 0;  // s(b) is multiplied by a factor in [1 - it, 1 + it]
  uint64_t seed = 1;
};

class VirtualDevice final : public VirtualInstances {
 public:
  // `clock` outlives it.
  VirtualDevice(const VirtualDeviceOptions& options, const VirtualClock& clock);

  // Finishes what it has at once, whatever the clock says.
  ~VirtualDevice() override;

  PulledInstances pulled() const override;

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
  struct Copy {
    std::deque<BatchPtr> batches;  // the first computes
    TimePoint begin;               // of the first
    TimePoint end;
  };

  bool HasRoom(InstanceId id) const override;
  void Begin(InstanceId id, BatchPtr batch) override;
  void Compute(Copy& copy);
  size_t NextCopy() const;

  const VirtualDeviceOptions options_;
  const VirtualClock& clock_;
  HostOutputPool pool_;
  std::mt19937_64 random_;
  std::vector<Copy> copies_;  // [instance]
  Duration busy_{0};
  int64_t batches_ = 0;
  int64_t rows_ = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_VIRTUAL_DEVICE_H_
