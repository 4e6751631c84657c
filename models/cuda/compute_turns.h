// ComputeTurns lets models that share a device compute one after the other, in
// the order in which their batches are put on it.
//
// Each model has streams of its own, and a device runs what is on two streams
// at once: a batch would take as long as what others compute meanwhile, which
// is nothing that can be expected of the next.
//
// Thread safety: thread-safe. A turn that is put on the device for long keeps
// the others waiting, as one whose forward waits for the device does. On the
// device those behind a batch wait also while its rows are still copied in.
// Errors: throws c10::Error.
#ifndef FERRY_MODELS_CUDA_COMPUTE_TURNS_H_
#define FERRY_MODELS_CUDA_COMPUTE_TURNS_H_

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "base/mutex.h"

namespace ferry {

class ComputeTurns {
 public:
  ComputeTurns() {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&ended_, cudaEventDisableTiming));
  }
  ~ComputeTurns() { C10_CUDA_CHECK_WARN(cudaEventDestroy(ended_)); }
  ComputeTurns(const ComputeTurns&) = delete;
  ComputeTurns& operator=(const ComputeTurns&) = delete;

  // `work` puts a turn on `stream`, which is not captured.
  void Take(cudaStream_t stream, absl::FunctionRef<void()> work) {
    MutexLock lock(mutex_);
    if (last_ != nullptr && last_ != stream) {
      C10_CUDA_CHECK(cudaStreamWaitEvent(stream, ended_, 0));
    }
    const absl::Cleanup end = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      C10_CUDA_CHECK_WARN(cudaEventRecord(ended_, stream));
      last_ = stream;
    };
    work();
  }

 private:
  Mutex mutex_;
  cudaEvent_t ended_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the last turn
  cudaStream_t last_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null: none was
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_COMPUTE_TURNS_H_
