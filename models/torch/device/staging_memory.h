// StagingMemory allocates what rows of one model stand in on their way to a
// device and back, on both sides, and counts what it allocates once the model
// is warm: for rows of a new size, or where replies are held for long.
//
// Rooms grow by half or more at once (HostRoom does the same), so that sizes
// that come one after the other allocate seldom; where there is no memory for
// that, by what is needed.
//
// Thread safety: as HostMemory and grown(), thread-safe. Reserve() and
// EndWarmUp() are called on the thread that starts batches.
#ifndef FERRY_MODELS_TORCH_DEVICE_STAGING_MEMORY_H_
#define FERRY_MODELS_TORCH_DEVICE_STAGING_MEMORY_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "models/torch/device/device_runtime.h"
#include "tensor/host_memory.h"

namespace ferry {

class StagingMemory final : public HostMemory {
 public:
  // `runtime` outlives all but what is given back.
  explicit StagingMemory(DeviceRuntime& runtime);

  // Memory of the host that the device reads.
  std::byte* Allocate(size_t bytes) override;
  void Free(std::byte* bytes, size_t size) override {
    memory_->Free(bytes, size);
  }
  size_t max_idle_bytes() const override { return memory_->max_idle_bytes(); }

  // Makes `room`, which is flat, one of the device for so many elements or
  // more; what was in it is lost where it grows. Throws what LibTorch throws.
  void Reserve(at::Tensor& room, int64_t elements, at::ScalarType type);

  // From now on what is allocated counts.
  void EndWarmUp() { is_warm_ = true; }
  uint64_t grown() const { return grown_.load(std::memory_order_relaxed); }

 private:
  void Count();

  DeviceRuntime& runtime_;
  const std::shared_ptr<HostMemory> memory_;
  std::atomic<bool> is_warm_{false};
  std::atomic<uint64_t> grown_{0};
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DEVICE_STAGING_MEMORY_H_
