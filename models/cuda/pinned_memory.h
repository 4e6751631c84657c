// PinnedMemory allocates host memory that stays where it is, so that the device
// copies from and to it by itself while others work.
//
// It is near the thread that allocates it, and so on the device's NUMA node
// where the process is bound to that. To allocate or free it may wait for the
// device.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_CUDA_PINNED_MEMORY_H_
#define FERRY_MODELS_CUDA_PINNED_MEMORY_H_

#include <cuda_runtime_api.h>

#include <new>

#include "tensor/host_memory.h"

namespace ferry {

class PinnedMemory final : public HostMemory {
 public:
  std::byte* Allocate(size_t bytes) override {
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
      cudaGetLastError();  // said by the exception
      throw std::bad_alloc();
    }
    return static_cast<std::byte*>(memory);
  }

  // After the device is lost it fails, and the memory goes with the process.
  void Free(std::byte* bytes, size_t /*size*/) override { cudaFreeHost(bytes); }
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_PINNED_MEMORY_H_
