// HostRuntime: a DeviceRuntime whose device is the processor, as lazy as one
// may be: what is put on a stream is done when somebody waits for it or what
// computes needs it, and not before. So a step that does not wait for what it
// reads, and memory that is used again too early, show as wrong values.
//
// Thread safety: that of DeviceRuntime.
#ifndef FERRY_TESTS_MODELS_TORCH_DEVICE_HOST_RUNTIME_H_
#define FERRY_TESTS_MODELS_TORCH_DEVICE_HOST_RUNTIME_H_

#include <ATen/ATen.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "batcher/checked_math.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/normalize.h"
#include "tests/models/torch/device/counted_memory.h"

namespace ferry {

class HostStreams final : public DeviceStreams {
 public:
  std::unique_ptr<DeviceEvent> MakeEvent() override;

  // Of the host's memory it keeps the address alone, as a device does.
  void Copy(const void* from, void* to, size_t bytes,
            DeviceStream stream) override {
    Put(stream, [=] { std::memcpy(to, from, bytes); });
  }

  void Cast(Elements from, Elements to, int64_t count) override {
    Check();
    CastElements(from, to, count);
  }

  void Normalize(const Normalization& normalization,
                 const ImageBatch& batch) override {
    Check();
    const at::Tensor made =
        at::empty({batch.images * ElementCount(batch.row_dims).value_or(0)},
                  batch.to.type);
    Normalizer(normalization)
        .Run(batch.from, batch.images, batch.row_dims,
             {made.data_ptr(), batch.to.type});
    const bool wire_is_last = normalization.channels == ChannelPlace::kLast;
    const int64_t channels =
        wire_is_last ? batch.row_dims.back() : batch.row_dims.front();
    at::Tensor first = made.view({batch.images, channels, -1});
    if (batch.to_channels == ChannelPlace::kLast) {
      first = first.transpose(1, 2).contiguous();
    }
    std::memcpy(batch.to.data, first.data_ptr(), first.nbytes());
  }

  void Run(DeviceStream stream, absl::FunctionRef<void()> work) override {
    const std::lock_guard lock(mutex_);
    if (stream != DeviceStream::kCompute) {
      return work();  // allocates
    }
    Drain(DeviceStream::kCompute, of(DeviceStream::kCompute).put);
    is_running_ = true;
    try {
      work();
    } catch (...) {
      is_running_ = false;
      throw;
    }
    is_running_ = false;
  }

  absl::StatusOr<std::unique_ptr<DeviceGraph>> Capture(
      absl::FunctionRef<void()> /*work*/) override {
    return absl::UnimplementedError("the processor records no graphs");
  }

 private:
  friend class HostEvent;

  struct Stream {
    std::deque<std::function<void()>> waiting;
    uint64_t put = 0;
    uint64_t done = 0;
  };

  Stream& of(DeviceStream stream) {
    return streams_[static_cast<size_t>(stream)];
  }

  void Put(DeviceStream stream, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    of(stream).waiting.push_back(std::move(work));
    ++of(stream).put;
  }

  // Does what was put on the stream up to there.
  void Drain(DeviceStream stream, uint64_t until) {
    while (of(stream).done < until) {
      const std::function<void()> work = std::move(of(stream).waiting.front());
      of(stream).waiting.pop_front();
      ++of(stream).done;
      work();
    }
  }

  void Check() const { TORCH_CHECK(is_running_, "not in Run()"); }

  std::recursive_mutex mutex_;
  std::array<Stream, 3> streams_;
  bool is_running_ = false;
  int64_t marks_ = 0;  // of all events
};

class HostEvent final : public DeviceEvent {
 public:
  explicit HostEvent(HostStreams& streams) : streams_(streams) {}

  void Record(DeviceStream stream) override {
    const std::lock_guard lock(streams_.mutex_);
    stream_ = stream;
    at_ = streams_.of(stream).put;
    number_ = ++streams_.marks_;
  }

  void Block(DeviceStream stream) override {
    const std::lock_guard lock(streams_.mutex_);
    streams_.Put(stream, [this, of = stream_, until = at_] {
      streams_.Drain(of, until);
    });
  }

  void Await() override {
    const std::lock_guard lock(streams_.mutex_);
    streams_.Drain(stream_, at_);
  }

  // A microsecond for each mark that was set since the other.
  Duration Since(const DeviceEvent& begin) const override {
    return std::chrono::microseconds(
        number_ - static_cast<const HostEvent&>(begin).number_);
  }

 private:
  HostStreams& streams_;
  DeviceStream stream_ = DeviceStream::kCopyIn;
  uint64_t at_ = 0;
  int64_t number_ = 0;
};

inline std::unique_ptr<DeviceEvent> HostStreams::MakeEvent() {
  return std::make_unique<HostEvent>(*this);
}

class HostRuntime final : public DeviceRuntime {
 public:
  at::Device device() const override { return at::kCPU; }
  std::string architecture() const override { return ""; }
  std::shared_ptr<HostMemory> host_memory() override { return memory; }
  std::unique_ptr<DeviceStreams> MakeStreams() override {
    return std::make_unique<HostStreams>();
  }
  bool IsLost() override { return is_lost; }
  void FreeKept() override { ++times_freed; }
  bool TakeOutOfMemory() override { return is_out_of_memory.exchange(false); }

  const std::shared_ptr<CountedMemory> memory =
      std::make_shared<CountedMemory>();
  std::atomic<bool> is_lost{false};
  std::atomic<bool> is_out_of_memory{false};
  std::atomic<int> times_freed{0};
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_DEVICE_HOST_RUNTIME_H_
