// StreamPool gives each CUDA stream to one model at a time.
//
// LibTorch's own pool hands out 32 in turn, and so one of a model that serves
// to one that is loaded. Streams are never destroyed: what LibTorch's allocator
// keeps belongs to one, and the next model uses it again.
//
// Thread safety: thread-safe.
// Errors: throws c10::Error.
#ifndef FERRY_MODELS_CUDA_STREAM_POOL_H_
#define FERRY_MODELS_CUDA_STREAM_POOL_H_

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <array>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace ferry {

class StreamPool {
 public:
  using Streams = std::array<cudaStream_t, 3>;  // [DeviceStream]

  Streams Take() {
    MutexLock lock(mutex_);
    if (!free_.empty()) {
      const Streams streams = free_.back();
      free_.pop_back();
      return streams;
    }
    Streams streams = {};
    for (cudaStream_t& stream : streams) {
      C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    return streams;
  }

  // REQUIRES: nothing is under way on them.
  void GiveBack(const Streams& streams) {
    MutexLock lock(mutex_);
    free_.push_back(streams);
  }

 private:
  Mutex mutex_;
  std::vector<Streams> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_STREAM_POOL_H_
