// Implements StagingMemory: counts, and grows tensors of the device.
#include "models/torch/device/staging_memory.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>

namespace ferry {

StagingMemory::StagingMemory(DeviceRuntime& runtime)
    : runtime_(runtime), memory_(runtime.host_memory()) {}

std::byte* StagingMemory::Allocate(size_t bytes) {
  std::byte* const allocated = memory_->Allocate(bytes);
  Count();
  return allocated;
}

void StagingMemory::Reserve(at::Tensor& room, int64_t elements,
                            at::ScalarType type) {
  const int64_t had = room.defined() ? room.numel() : 0;
  if (room.defined() && had >= elements) {
    return;
  }
  room.reset();
  const at::TensorOptions options =
      at::TensorOptions(runtime_.device()).dtype(type);
  if (const int64_t step = had + had / 2; step > elements) {
    try {
      room = at::empty({step}, options);
    } catch (const c10::Error&) {
      runtime_.TakeOutOfMemory();  // there may be enough for less
    }
  }
  if (!room.defined()) {
    room = at::empty({elements}, options);
  }
  Count();
}

void StagingMemory::Count() {
  if (is_warm_) {
    grown_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace ferry
