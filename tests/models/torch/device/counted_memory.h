// CountedMemory: memory of the host that counts how often it was asked for, and
// can be out.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_MODELS_TORCH_DEVICE_COUNTED_MEMORY_H_
#define FERRY_TESTS_MODELS_TORCH_DEVICE_COUNTED_MEMORY_H_

#include <atomic>
#include <memory>
#include <new>

#include "batcher/host_memory.h"

namespace ferry {

class CountedMemory final : public HostMemory {
 public:
  std::byte* Allocate(size_t bytes) override {
    ++allocations;
    if (is_out) {
      throw std::bad_alloc();
    }
    return plain_->Allocate(bytes);
  }
  void Free(std::byte* bytes) override { plain_->Free(bytes); }

  std::atomic<int> allocations{0};
  std::atomic<bool> is_out{false};

 private:
  const std::shared_ptr<HostMemory> plain_ = HostMemory::Plain();
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_DEVICE_COUNTED_MEMORY_H_
