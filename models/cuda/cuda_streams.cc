// Implements CudaStreams with Ferry's kernels and torch's graphs.
#include "models/cuda/cuda_streams.h"

#include <ATen/Functions.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <array>
#include <chrono>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/mutex.h"
#include "models/cuda/captures.h"
#include "models/cuda/cast_elements.h"
#include "models/cuda/cast_images.h"
#include "models/cuda/normalize_images.h"
#include "models/torch/normalize.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// How long the thread that waits for the device asks before it sleeps: to wake
// takes longer than a small batch; a core that asks for long does no work.
constexpr auto kMaxPoll = std::chrono::microseconds(100);
constexpr uintptr_t kAlignment = 16;  // of our own kernels

bool IsAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

class CudaEvent final : public DeviceEvent {
 public:
  explicit CudaEvent(const CudaStreams& streams) : streams_(streams) {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync));
  }
  ~CudaEvent() override { C10_CUDA_CHECK_WARN(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void Record(DeviceStream stream) override {
    C10_CUDA_CHECK(cudaEventRecord(event_, streams_.of(stream)));
  }

  void Block(DeviceStream stream) override {
    C10_CUDA_CHECK(cudaStreamWaitEvent(streams_.of(stream), event_, 0));
  }

  void Await() override {
    const TimePoint until = Clock::Steady().Now() + kMaxPoll;
    do {
      const cudaError_t error = cudaEventQuery(event_);
      if (error == cudaSuccess) {
        return;
      }
      if (error != cudaErrorNotReady) {
        C10_CUDA_CHECK(error);
      }
      cudaGetLastError();  // some drivers keep it, and the next kernel has it
    } while (Clock::Steady().Now() < until);
    C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }

  Duration Since(const DeviceEvent& begin) const override {
    float ms = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(
        &ms, static_cast<const CudaEvent&>(begin).event_, event_));
    return Milliseconds(ms);
  }

 private:
  const CudaStreams& streams_;
  cudaEvent_t event_ = nullptr;
};

class CudaGraph final : public DeviceGraph {
 public:
  ~CudaGraph() override {
    MutexLock lock(Captures::Get().mutex);
    graph.reset();
  }

  void Launch() override { graph->replay(); }

  // It keeps what was recorded: else to end a capture could fail, where there
  // is no memory, when the capture has ended.
  std::unique_ptr<at::cuda::CUDAGraph> graph =
      std::make_unique<at::cuda::CUDAGraph>(/*keep_graph=*/true);
};

// Returns what is thrown, or nothing.
std::string WhatThrows(absl::FunctionRef<void()> work) {
  try {
    work();
    return "";
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Leaves LibTorch's allocator with what capture_begin() allocates first on the
// current stream: where it found no memory, it would leave a graph that cannot
// be destroyed. What is returned keeps the rest from being given back.
at::Tensor ReserveForBegin() {
  const auto number = [] {
    return at::empty(
        {1}, at::TensorOptions(at::Device(at::kCUDA, 0)).dtype(at::kLong));
  };
  at::Tensor kept = number();
  const std::array<at::Tensor, 2> seed_and_offset = {number(), number()};
  return kept;
}

// Begins a capture with a state of its own for LibTorch's random numbers: while
// a state is captured, no other thread may draw with it. What the capture
// itself draws throws then.
void BeginCapture(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t memory) {
  at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator(0);
  auto& mutex = generator.mutex();  // LibTorch's own: none draws meanwhile
  mutex.lock();
  const at::Generator of_all = generator.graphsafe_get_state();
  const absl::Cleanup give_back = [&] {
    generator.graphsafe_set_state(of_all);
    mutex.unlock();
  };
  generator.graphsafe_set_state(of_all.clone());
  graph.capture_begin(memory, cudaStreamCaptureModeThreadLocal);
}

cudaStreamCaptureStatus StateOf(cudaStream_t stream) {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &state);
  cudaGetLastError();
  return state;
}

void LeaveByHand(cudaStream_t stream) {
  cudaGraph_t broken = nullptr;
  cudaStreamEndCapture(stream, &broken);
  cudaGetLastError();
}

// Ends the capture, of which CUDA may know nothing any more, or not yet: then
// LibTorch ends an empty one in its place, and `is_broken` says so. Else its
// allocator would go on to take part in all that others allocate. Returns what
// is thrown; `is_over`: not by CUDA, so that LibTorch has none to end.
std::string EndCapture(at::cuda::CUDAGraph& graph, cudaStream_t stream,
                       bool& is_broken, bool& is_over) {
  is_over = false;
  const std::string thrown = WhatThrows([&] {
    const cudaStreamCaptureStatus state = StateOf(stream);
    is_broken = state != cudaStreamCaptureStatusActive;
    if (state == cudaStreamCaptureStatusInvalidated) {
      LeaveByHand(stream);
    }
    if (is_broken) {
      C10_CUDA_CHECK(
          cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    }
    is_over = true;
    graph.capture_end();
  });
  if (!thrown.empty() && StateOf(stream) != cudaStreamCaptureStatusNone) {
    LeaveByHand(stream);
    is_over = false;
  }
  return thrown;
}

// Records what `work` puts on the current stream, `stream`; returns why it
// could not.
std::string Record(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t memory,
                   cudaStream_t stream, absl::FunctionRef<void()> work) {
  at::Tensor reserved;
  std::string why_not = WhatThrows([&] { reserved = ReserveForBegin(); });
  if (!why_not.empty()) {
    return why_not;
  }
  why_not = WhatThrows([&] {
    BeginCapture(graph, memory);
    work();
  });
  bool is_broken = false;
  bool is_over = false;
  const std::string thrown = EndCapture(graph, stream, is_broken, is_over);
  if (why_not.empty()) {
    why_not = !thrown.empty() ? thrown
              : is_broken     ? "it does what a graph cannot"
                              : "";
  }
  if (!thrown.empty()) {
    // It may have been CUDA's end that failed; of an empty one it does not.
    EndCapture(graph, stream, is_broken, is_over);
    if (!is_over) {
      Captures::Get().are_broken = true;
    }
  }
  return why_not.empty() ? WhatThrows([&] { graph.instantiate(); }) : why_not;
}

ImageLayout LayoutOf(const ImageBatch& batch, ChannelPlace place,
                     ChannelPlace wire) {
  int64_t elements = 1;
  for (const int64_t dim : batch.row_dims) {
    elements *= dim;
  }
  const int64_t channels = wire == ChannelPlace::kLast ? batch.row_dims.back()
                                                       : batch.row_dims.front();
  return {static_cast<int32_t>(channels), elements / channels, place};
}

// What our kernel does not take: many channels, images that begin anywhere.
void NormalizeByOperators(const Normalizer& normalizer, ChannelPlace wire,
                          const ImageBatch& batch, const at::Device& device) {
  const ImageLayout layout = LayoutOf(batch, wire, wire);
  const auto view = [&](const void* data, at::ScalarType type,
                        ChannelPlace place) {
    const bool is_last = place == ChannelPlace::kLast;
    const at::Tensor all =
        at::from_blob(const_cast<void*>(data),
                      {batch.images, is_last ? layout.pixels : layout.channels,
                       is_last ? layout.channels : layout.pixels},
                      at::TensorOptions(device).dtype(type));
    return is_last ? all.transpose(1, 2) : all;  // [images, channels, pixels]
  };
  const auto each = [&](const std::vector<float>& of) {
    return at::tensor(of).to(device).reshape({1, -1, 1});
  };
  view(batch.to.data, batch.to.type, batch.to_channels)
      .copy_(view(batch.from, at::kByte, wire)
                 .to(at::kFloat)
                 .mul(each(normalizer.scales()))
                 .add(each(normalizer.shifts())));
}

}  // namespace

CudaStreams::CudaStreams(std::shared_ptr<StreamPool> pool,
                         std::shared_ptr<ComputeTurns> turns)
    : pool_(std::move(pool)),
      turns_(std::move(turns)),
      streams_(pool_->Take()) {}

CudaStreams::~CudaStreams() { pool_->GiveBack(streams_); }

c10::cuda::CUDAStream CudaStreams::known(DeviceStream stream) const {
  return c10::cuda::getStreamFromExternal(of(stream), /*device_index=*/0);
}

std::unique_ptr<DeviceEvent> CudaStreams::MakeEvent() {
  return std::make_unique<CudaEvent>(*this);
}

void CudaStreams::Copy(const void* from, void* to, size_t bytes,
                       DeviceStream stream) {
  C10_CUDA_CHECK(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(stream)));
}

void CudaStreams::Cast(Elements from, Elements to, int64_t count) {
  const cudaStream_t stream = of(DeviceStream::kCompute);
  if (from.type == to.type) {
    return Copy(from.data, to.data,
                static_cast<size_t>(count) * c10::elementSize(to.type),
                DeviceStream::kCompute);
  }
  const auto from_type = FromScalarType(from.type);
  const auto to_type = FromScalarType(to.type);
  if (from_type.has_value() && to_type.has_value() && IsAligned(from.data) &&
      IsAligned(to.data)) {
    const cudaError_t error = CastElements({from.data, *from_type},
                                           {to.data, *to_type}, count, stream);
    if (error != cudaErrorInvalidValue) {
      C10_CUDA_CHECK(error);
      return;
    }
  }
  const at::TensorOptions here(at::Device(at::kCUDA, 0));
  Run(DeviceStream::kCompute, [&] {
    at::from_blob(to.data, {count}, here.dtype(to.type))
        .copy_(at::from_blob(from.data, {count}, here.dtype(from.type)));
  });
}

void CudaStreams::Normalize(const Normalization& normalization,
                            const ImageBatch& batch) {
  const Normalizer normalizer(normalization);
  const ImageLayout wire =
      LayoutOf(batch, normalization.channels, normalization.channels);
  const auto to_type = FromScalarType(batch.to.type);
  if (wire.channels <= ChannelScales::kMost && to_type.has_value() &&
      IsAligned(batch.from) && IsAligned(batch.to.data)) {
    ChannelScales scales;
    const bool is_one = normalizer.scales().size() == 1;
    for (int32_t i = 0; i < wire.channels; ++i) {
      const auto channel = static_cast<size_t>(is_one ? 0 : i);
      scales.scale[i] = normalizer.scales()[channel];
      scales.shift[i] = normalizer.shifts()[channel];
    }
    C10_CUDA_CHECK(NormalizeImages(
        batch.from, wire, {batch.to.data, *to_type},
        LayoutOf(batch, batch.to_channels, normalization.channels),
        batch.images, scales, of(DeviceStream::kCompute)));
    return;
  }
  Run(DeviceStream::kCompute, [&] {
    NormalizeByOperators(normalizer, normalization.channels, batch,
                         at::Device(at::kCUDA, 0));
  });
}

void CudaStreams::PutChannelsLast(const FirstToLast& images) {
  const auto from_type = FromScalarType(images.from.type);
  const auto to_type = FromScalarType(images.to.type);
  if (from_type.has_value() && to_type.has_value() &&
      images.channels <= std::numeric_limits<int32_t>::max() &&
      IsAligned(images.to.data)) {
    const auto layout = [&](ChannelPlace place) {
      return ImageLayout{static_cast<int32_t>(images.channels), images.pixels,
                         place};
    };
    const cudaError_t error =
        CastImages({images.from.data, *from_type}, layout(ChannelPlace::kFirst),
                   {images.to.data, *to_type}, layout(ChannelPlace::kLast),
                   images.images, of(DeviceStream::kCompute));
    if (error != cudaErrorInvalidValue) {
      C10_CUDA_CHECK(error);
      return;
    }
  }
  const at::TensorOptions here(at::Device(at::kCUDA, 0));
  Run(DeviceStream::kCompute, [&] {
    at::from_blob(images.to.data,
                  {images.images, images.pixels, images.channels},
                  here.dtype(images.to.type))
        .copy_(at::from_blob(images.from.data,
                             {images.images, images.channels, images.pixels},
                             here.dtype(images.from.type))
                   .transpose(1, 2));
  });
}

void CudaStreams::Run(DeviceStream stream, absl::FunctionRef<void()> work) {
  const c10::cuda::CUDAStreamGuard guard(known(stream));
  work();
}

void CudaStreams::TakeTurn(absl::FunctionRef<void()> work) {
  turns_->Take(of(DeviceStream::kCompute), work);
}

absl::StatusOr<std::unique_ptr<DeviceGraph>> CudaStreams::Capture(
    const RecordedForward& forward, Values& outputs) {
  const c10::cuda::CUDAStreamGuard guard(known(DeviceStream::kCompute));
  auto recorded = std::make_unique<CudaGraph>();
  absl::Status status;
  std::string why_not;
  {
    MutexLock lock(Captures::Get().mutex);
    why_not =
        Record(*recorded->graph, graph_memory_, of(DeviceStream::kCompute),
               [&] { status = forward(outputs); });
  }
  if (status.ok() && !why_not.empty()) {
    status = absl::FailedPreconditionError(why_not);
  }
  if (!status.ok()) {
    cudaGetLastError();  // said by the status
    return status;
  }
  graph_memory_ = recorded->graph->pool();
  return recorded;
}

}  // namespace ferry
