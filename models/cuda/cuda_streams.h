// CudaStreams puts a model's work on three CUDA streams, or into graphs.
//
// Thread safety: that of DeviceStreams.
// Errors: throws c10::Error.
#ifndef FERRY_MODELS_CUDA_CUDA_STREAMS_H_
#define FERRY_MODELS_CUDA_CUDA_STREAMS_H_

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>

#include "models/cuda/compute_turns.h"
#include "models/cuda/stream_pool.h"
#include "models/torch/device/device_runtime.h"

namespace ferry {

class CudaStreams final : public DeviceStreams {
 public:
  CudaStreams(std::shared_ptr<StreamPool> pool,
              std::shared_ptr<ComputeTurns> turns);
  ~CudaStreams() override;

  std::unique_ptr<DeviceEvent> MakeEvent() override;
  void Copy(const void* from, void* to, size_t bytes,
            DeviceStream stream) override;
  void Cast(Elements from, Elements to, int64_t count) override;
  void Normalize(const Normalization& normalization,
                 const ImageBatch& batch) override;
  void PutChannelsLast(const FirstToLast& images) override;
  void Run(DeviceStream stream, absl::FunctionRef<void()> work) override;
  void TakeTurn(absl::FunctionRef<void()> work) override;
  absl::StatusOr<std::unique_ptr<DeviceGraph>> Capture(
      const RecordedForward& forward, Values& outputs) override;

  cudaStream_t of(DeviceStream stream) const {
    return streams_[static_cast<size_t>(stream)];
  }

 private:
  // Returns the stream by the type that LibTorch knows.
  c10::cuda::CUDAStream known(DeviceStream stream) const;

  const std::shared_ptr<StreamPool> pool_;
  const std::shared_ptr<ComputeTurns> turns_;
  const StreamPool::Streams streams_;
  // All graphs of a network share it: one is launched at a time, and what it
  // gives is read before the next.
  at::cuda::MempoolId_t graph_memory_ = {0, 0};
};

}  // namespace ferry

#endif  // FERRY_MODELS_CUDA_CUDA_STREAMS_H_
