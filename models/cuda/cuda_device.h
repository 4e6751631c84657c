// CudaDevice opens the one device that CUDA shows to this process.
//
// Thread safety: thread-safe after Open().
#ifndef FERRY_MODELS_CUDA_CUDA_DEVICE_H_
#define FERRY_MODELS_CUDA_CUDA_DEVICE_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "models/cuda/compute_turns.h"
#include "models/cuda/memory_limit.h"
#include "models/cuda/stream_pool.h"
#include "models/torch/device/device_runtime.h"

namespace ferry {

class CudaDevice final : public DeviceRuntime {
 public:
  // Starts CUDA. `memory_share` of the device's memory is the process's.
  // FAILED_PRECONDITION where CUDA shows no device or cannot start.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(double memory_share);

  ~CudaDevice() override;

  at::Device device() const override { return {at::kCUDA, 0}; }
  std::shared_ptr<HostMemory> host_memory() override { return host_memory_; }
  std::unique_ptr<DeviceStreams> MakeStreams() override;
  std::string architecture() const override { return architecture_; }
  bool IsLost() override;
  // Measures anew how much LibTorch's allocator may hold.
  void FreeKept() override;
  bool TakeOutOfMemory() override;
  void BeginWarmUp() override { CountWarmUp(1); }
  void EndWarmUp() override { CountWarmUp(-1); }

  // All devices that CUDA shows, as 8-4-4-4-12 hexadecimal digits.
  const std::vector<std::string>& uuids() const { return uuids_; }
  // The count that CUDA shows of the device: of a slice, the slice's.
  int multiprocessors() const { return multiprocessors_; }
  // "name=... compute_capability=... driver=... runtime=...", for the log.
  const std::string& description() const { return description_; }

 private:
  explicit CudaDevice(double memory_share);

  // Limits LibTorch's allocator by what is measured; where that cannot be had,
  // by `unmeasured`, without which the limit stays.
  void LimitMemory(const std::optional<MemoryUse>& unmeasured);
  void CountWarmUp(int more);

  const std::shared_ptr<HostMemory> host_memory_;
  const std::shared_ptr<StreamPool> streams_;
  const std::shared_ptr<ComputeTurns> turns_;
  std::vector<std::string> uuids_;
  int multiprocessors_ = 0;
  std::string description_;
  std::string architecture_;
  size_t memory_bytes_ = 0;  // what a fraction is of
  Mutex memory_mutex_;
  MemoryLimit memory_limit_ ABSL_GUARDED_BY(memory_mutex_);
  Mutex warm_up_mutex_;
  int warm_ups_ ABSL_GUARDED_BY(warm_up_mutex_) = 0;  // that go on
  // What IsLost() asks.
  cudaStream_t probe_stream_ = nullptr;
  cudaEvent_t probe_ = nullptr;
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CUDA_DEVICE_H_
