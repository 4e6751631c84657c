// DeviceRuntime stands for a device with memory of its own, as a
// TorchDeviceModel uses it: work is put on streams and is done later, in order.
//
// Each model has three streams of its own; what is put on one is in order, what
// is on two is not but for events. Models that serve compute in turns: one
// batch after the other, so that the time of each is its own. The same
// interface is implemented by CUDA (models/cuda/cuda_device.h) and, for tests,
// by the host.
//
// Thread safety: DeviceRuntime is thread-safe. DeviceStreams and DeviceEvent,
// but for Await() and Since(), are called from one thread at a time.
// Errors: throws what LibTorch throws; IsLost() says whether anything will
// succeed any more.
#ifndef FERRY_MODELS_TORCH_DEVICE_DEVICE_RUNTIME_H_
#define FERRY_MODELS_TORCH_DEVICE_DEVICE_RUNTIME_H_

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "models/config/normalization.h"
#include "models/torch/cast.h"
#include "models/torch/network.h"
#include "tensor/host_memory.h"

namespace ferry {

enum class DeviceStream : uint8_t { kCopyIn, kCompute, kCopyOut };

// A mark in a stream; marked anew, it forgets where it was.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;

  // Marks what was put on the stream so far.
  virtual void Record(DeviceStream stream) = 0;
  // What is put on the stream from now on waits for the mark, if there is one.
  virtual void Block(DeviceStream stream) = 0;
  // Returns when the device has passed the mark, at once without one.
  virtual void Await() = 0;
  // The device's time from the other mark to this one. REQUIRES: passed both.
  virtual Duration Since(const DeviceEvent& begin) const = 0;
};

// Work of kCompute that was recorded once, with its addresses.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;

  // Puts it on the stream.
  virtual void Launch() = 0;
};

// A forward that may run as often as is liked, with inputs that stay.
using RecordedForward = std::function<absl::Status(Values& outputs)>;

// Where images stand as bytes, and what becomes of them.
struct ImageBatch {
  const uint8_t* from = nullptr;
  int64_t images = 0;
  absl::Span<const int64_t> row_dims = {};  // on the wire
  Elements to = {};
  ChannelPlace to_channels = ChannelPlace::kFirst;
};

// Images with the channels first, and where they are to stand with the channels
// last.
struct FirstToLast {
  Elements from = {};
  Elements to = {};
  int64_t images = 0;
  int64_t channels = 0;
  int64_t pixels = 0;  // of an image
};

class DeviceStreams {
 public:
  virtual ~DeviceStreams() = default;

  virtual std::unique_ptr<DeviceEvent> MakeEvent() = 0;

  // Runs `work`; what LibTorch's operators do in it is put on the stream, and
  // what they allocate may be used again by what is put there later.
  virtual void Run(DeviceStream stream, absl::FunctionRef<void()> work) = 0;

  // Calls `work`, which puts a turn on kCompute: on the device it begins when
  // what was put there in earlier turns, of any model, has ended. Waits while
  // another thread puts its turn there.
  virtual void TakeTurn(absl::FunctionRef<void()> work) = 0;

  // Copies between the host's memory (DeviceRuntime::host_memory()) and the
  // device's, or within the latter.
  virtual void Copy(const void* from, void* to, size_t bytes,
                    DeviceStream stream) = 0;

  // --- on kCompute; memory of the device ---
  virtual void Cast(Elements from, Elements to, int64_t count) = 0;
  virtual void Normalize(const Normalization& normalization,
                         const ImageBatch& batch) = 0;
  virtual void PutChannelsLast(const FirstToLast& images) = 0;
  // Runs `forward` as Run() does, but records a graph of it and does none of
  // it; `outputs` are where the graph will write. An error says why that work
  // cannot be recorded; all is as before then, or the device is lost.
  virtual absl::StatusOr<std::unique_ptr<DeviceGraph>> Capture(
      const RecordedForward& forward, Values& outputs) = 0;
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  // Where weights and batches are.
  virtual at::Device device() const = 0;
  // What compiled code must be for, as torch says it ("90"); empty: anything.
  virtual std::string architecture() const = 0;
  // Memory of the host that the device copies from and to by itself.
  virtual std::shared_ptr<HostMemory> host_memory() = 0;
  // What the calling thread has put on the device is done when it returns.
  virtual std::unique_ptr<DeviceStreams> MakeStreams() = 0;

  // Whether all that is put on the device fails until the process ends.
  virtual bool IsLost() = 0;
  // Gives memory back to the device that is kept for what comes next. May wait
  // while a graph is recorded; not called within a turn.
  virtual void FreeKept() = 0;
  // Whether the device had no memory for what the calling thread has asked for
  // since the last call: some that run networks throw no more than a text.
  virtual bool TakeOutOfMemory() = 0;
  // Between the two, of any model, libraries may try several ways of what they
  // have not done yet, which takes long, and keep the fastest.
  virtual void BeginWarmUp() = 0;
  virtual void EndWarmUp() = 0;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DEVICE_DEVICE_RUNTIME_H_
