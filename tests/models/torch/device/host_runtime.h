// HostRuntime is a DeviceRuntime whose device is the processor, as lazy as one
// may be: what is put on a stream is done when a thread waits for it or what
// computes needs it, and not before. So a step that does not wait for what it
// reads, and memory that is used again too early, show as wrong values. What
// values cannot show, as of a batch that has failed, is in faults().
//
// LibTorch's operators compute at once: what follows on the host needs their
// tensors. So what was cast in DeviceStreams::Run(), which is all that others
// read of it, is taken away when it ends, and comes when the stream gets there;
// until then all bytes there are 0xFF, of floats NaN. What is put on kCopyOut
// is done at once where nothing before it waits.
//
// Thread safety: that of DeviceRuntime; faults() when no other thread runs.
#ifndef FERRY_TESTS_MODELS_TORCH_DEVICE_HOST_RUNTIME_H_
#define FERRY_TESTS_MODELS_TORCH_DEVICE_HOST_RUNTIME_H_

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "base/checked_math.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/normalize.h"
#include "tests/models/torch/device/stream_order.h"

namespace ferry {

// What tests see of the streams of a runtime, and do to them.
struct HostStreamsState {
  std::vector<std::string> faults;
  // [DeviceStream], of all of them: put there and not done yet.
  std::array<int, 3> waiting = {};
  // The device fails when it gets to what is on this stream: from then on it
  // does nothing any more, and each thread that waits for it is told.
  std::optional<DeviceStream> failing;
  bool has_failed = false;
  // Why none can be recorded; empty: they can.
  std::string why_no_graphs;
  bool is_next_launch_wrong = false;  // one graph gives other values, once
  std::mutex turn;                    // of all of them: one puts its turn there
  std::atomic<std::thread::id> in_turn = {};  // the thread of which it is
  int turns = 0;
  int launches = 0;
};

class HostStreams final : public DeviceStreams {
 public:
  // `state` outlives it.
  explicit HostStreams(HostStreamsState& state)
      : state_(state), order_(state.faults) {}

  ~HostStreams() override {
    for (const Stream& stream : streams_) {
      if (!stream.waiting.empty() && !state_.has_failed) {
        state_.faults.emplace_back("streams ended that had not done all");
      }
    }
  }

  std::unique_ptr<DeviceEvent> MakeEvent() override;

  // It keeps the address alone of the host's memory, as a device does.
  void Copy(const void* from, void* to, size_t bytes,
            DeviceStream stream) override {
    const std::lock_guard lock(mutex_);
    order_.Put(stream);
    if (stream == DeviceStream::kCopyIn) {
      order_.Write(StreamOrder::kHost, BytesAt(from, bytes));  // before
      order_.Put(stream);
      copied_in_.push_back(BytesAt(to, bytes));
    }
    order_.Read(StreamOrder::Index(stream), BytesAt(from, bytes));
    order_.Write(StreamOrder::Index(stream), BytesAt(to, bytes));
    Put(stream, {.work = [=] { std::memcpy(to, from, bytes); }});
  }

  void Cast(Elements from, Elements to, int64_t count) override {
    const auto size = static_cast<size_t>(count);
    Use(BytesAt(from.data, size * c10::elementSize(from.type)),
        BytesAt(to.data, size * c10::elementSize(to.type)));
    CastElements(from, to, count);
  }

  void Normalize(const Normalization& normalization,
                 const ImageBatch& batch) override {
    const at::Tensor made =
        at::empty({batch.images * ElementCount(batch.row_dims).value_or(0)},
                  batch.to.type);
    Use(BytesAt(batch.from, static_cast<size_t>(made.numel())),
        BytesAt(batch.to.data, made.nbytes()));
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

  void PutChannelsLast(const FirstToLast& images) override {
    const int64_t pixels = images.images * images.pixels;
    const auto size = static_cast<size_t>(pixels * images.channels);
    Use(BytesAt(images.from.data, size * c10::elementSize(images.from.type)),
        BytesAt(images.to.data, size * c10::elementSize(images.to.type)));
    at::from_blob(images.to.data,
                  {images.images, images.pixels, images.channels},
                  images.to.type)
        .copy_(at::from_blob(images.from.data,
                             {images.images, images.channels, images.pixels},
                             images.from.type)
                   .transpose(1, 2));
  }

  void Run(DeviceStream stream, absl::FunctionRef<void()> work) override {
    const std::lock_guard lock(mutex_);
    if (stream != DeviceStream::kCompute) {
      return work();  // allocates
    }
    Drain(DeviceStream::kCompute, of(DeviceStream::kCompute).put);
    order_.Put(DeviceStream::kCompute);
    is_running_ = true;
    try {
      work();
    } catch (...) {
      EndRun();
      throw;
    }
    EndRun();
  }

  // From its first turn on it computes in turns alone.
  void TakeTurn(absl::FunctionRef<void()> work) override {
    const std::lock_guard turn(state_.turn);
    ++state_.turns;
    state_.in_turn = std::this_thread::get_id();
    {
      const std::lock_guard lock(mutex_);
      takes_turns_ = is_in_turn_ = true;
    }
    const absl::Cleanup end = [this] {
      const std::lock_guard lock(mutex_);
      is_in_turn_ = false;
      state_.in_turn = std::thread::id();
    };
    work();
  }

  // Its graphs share memory: to launch one leaves nothing of what the others
  // gave.
  absl::StatusOr<std::unique_ptr<DeviceGraph>> Capture(
      const RecordedForward& forward, Values& outputs) override;

 private:
  friend class HostEvent;
  friend class HostGraph;

  struct Step {
    std::function<void()> work;
    std::function<bool()> may_begin = [] { return true; };
  };

  struct Stream {
    std::deque<Step> waiting;
    uint64_t put = 0;
    uint64_t done = 0;
  };

  Stream& of(DeviceStream stream) {
    return streams_[static_cast<size_t>(stream)];
  }

  // What computes, or is a mark of when it does.
  void CheckTurn(DeviceStream stream) {
    if (stream == DeviceStream::kCompute && takes_turns_ && !is_in_turn_) {
      state_.faults.emplace_back("it computes in no turn");
    }
  }

  void Put(DeviceStream stream, Step step) {
    CheckTurn(stream);
    of(stream).waiting.push_back(std::move(step));
    ++of(stream).put;
    ++Waiting(stream);
    if (stream == DeviceStream::kCopyOut) {
      while (!of(stream).waiting.empty() &&
             of(stream).waiting.front().may_begin()) {
        DoNext(stream);
      }
    }
  }

  int& Waiting(DeviceStream stream) {
    return state_.waiting[static_cast<size_t>(stream)];
  }

  // Does what was put on the stream up to there.
  void Drain(DeviceStream stream, uint64_t until) {
    while (of(stream).done < until) {
      DoNext(stream);
    }
  }

  void DoNext(DeviceStream stream) {
    const Step step = std::move(of(stream).waiting.front());
    of(stream).waiting.pop_front();
    ++of(stream).done;
    --Waiting(stream);
    state_.has_failed |= state_.failing == stream;
    if (!state_.has_failed) {
      step.work();
    }
  }

  // A kernel of ours. Only what was copied in, of all that it reads, may belong
  // to others: the rest comes and goes with the tensors of this stream.
  void Use(const Bytes& from, const Bytes& to) {
    TORCH_CHECK(is_running_, "not in Run()");
    for (const auto& [graph, bytes] : of_graphs_) {
      if (graph != launched_ && bytes.Overlaps(from)) {
        state_.faults.emplace_back(
            "what a graph gave is read after another was launched");
      }
    }
    constexpr size_t kCompute = static_cast<size_t>(DeviceStream::kCompute);
    for (const Bytes& wire : copied_in_) {
      if (wire.Overlaps(from)) {
        order_.Read(kCompute, from);
        break;
      }
    }
    order_.Write(kCompute, to);
    made_.push_back(to);
  }

  // Takes away what was made, and puts it on the stream.
  void EndRun() {
    is_running_ = false;
    std::vector<std::pair<Bytes, std::vector<std::byte>>> made;
    for (const Bytes& one : made_) {
      made.emplace_back(
          one, std::vector<std::byte>(one.begin, one.begin + one.size));
    }
    for (const Bytes& one : std::exchange(made_, {})) {
      std::memset(one.begin, 0xFF, one.size);
    }
    Put(DeviceStream::kCompute, {.work = [made = std::move(made)] {
          for (const auto& [to, bytes] : made) {
            std::memcpy(to.begin, bytes.data(), to.size);
          }
        }});
  }

  std::recursive_mutex mutex_;
  HostStreamsState& state_;
  StreamOrder order_;
  std::array<Stream, 3> streams_;
  std::vector<Bytes> copied_in_;  // to where
  // What each graph gives, and which was launched last.
  std::vector<std::pair<const DeviceGraph*, Bytes>> of_graphs_;
  const DeviceGraph* launched_ = nullptr;
  std::vector<Bytes> made_;  // in this Run()
  bool is_running_ = false;
  bool takes_turns_ = false;
  bool is_in_turn_ = false;
  int64_t marks_ = 0;  // of all events
};

class HostEvent final : public DeviceEvent {
 public:
  explicit HostEvent(HostStreams& streams) : streams_(streams) {}

  void Record(DeviceStream stream) override {
    const std::lock_guard lock(streams_.mutex_);
    streams_.CheckTurn(stream);
    stream_ = stream;
    is_marked_ = true;
    number_ = ++streams_.marks_;
    at_ = streams_.of(stream).put;
    known_ = streams_.order_.Mark(stream);
  }

  void Block(DeviceStream stream) override {
    const std::lock_guard lock(streams_.mutex_);
    streams_.order_.Block(stream, known_);
    streams_.Put(stream, {.work = [this, of = stream_,
                                   until = at_] { streams_.Drain(of, until); },
                          .may_begin =
                              [this, of = stream_, until = at_] {
                                return streams_.of(of).done >= until;
                              }});
  }

  void Await() override {
    const std::lock_guard lock(streams_.mutex_);
    streams_.Drain(stream_, at_);
    streams_.order_.Await(known_);
    TORCH_CHECK(!streams_.state_.has_failed, "an error of the device");
  }

  // A microsecond for each mark that was set since the other.
  Duration Since(const DeviceEvent& begin) const override {
    const std::lock_guard lock(streams_.mutex_);
    const auto& other = static_cast<const HostEvent&>(begin);
    TORCH_CHECK(HasPassed() && other.HasPassed(), "not passed yet");
    return std::chrono::microseconds(number_ - other.number_);
  }

 private:
  bool HasPassed() const {
    return is_marked_ && streams_.of(stream_).done >= at_;
  }

  HostStreams& streams_;
  DeviceStream stream_ = DeviceStream::kCopyIn;
  bool is_marked_ = false;
  uint64_t at_ = 0;
  int64_t number_ = 0;
  StreamOrder::Known known_ = {};
};

// A forward that runs again at each launch, into the tensors that it gave when
// it was recorded.
class HostGraph final : public DeviceGraph {
 public:
  HostGraph(HostStreams& streams, RecordedForward forward, Values outputs)
      : streams_(streams),
        forward_(std::move(forward)),
        outputs_(std::move(outputs)) {
    for (const c10::IValue& output : outputs_) {
      streams_.of_graphs_.emplace_back(this, BytesOf(output));
    }
  }

  ~HostGraph() override {
    auto& all = streams_.of_graphs_;
    all.erase(
        std::remove_if(all.begin(), all.end(),
                       [&](const auto& one) { return one.first == this; }),
        all.end());
  }

  void Launch() override {
    const std::lock_guard lock(streams_.mutex_);
    TORCH_CHECK(streams_.is_running_, "not in Run()");
    ++streams_.state_.launches;
    streams_.launched_ = this;
    Values given;
    const absl::Status status = forward_(given);
    TORCH_CHECK(status.ok(), std::string(status.message()));
    for (const auto& [graph, bytes] : streams_.of_graphs_) {
      std::memset(bytes.begin, 0xFF, bytes.size);  // of floats NaN
    }
    for (size_t i = 0; i < given.size(); ++i) {
      outputs_[i].toTensor().copy_(given[i].toTensor());
    }
    if (std::exchange(streams_.state_.is_next_launch_wrong, false)) {
      outputs_[0].toTensor().add_(1);
    }
  }

 private:
  static Bytes BytesOf(const c10::IValue& output) {
    return BytesAt(output.toTensor().data_ptr(), output.toTensor().nbytes());
  }

  HostStreams& streams_;
  const RecordedForward forward_;
  const Values outputs_;
};

// A forward that gives its input back has no memory of its own for it.
inline absl::StatusOr<std::unique_ptr<DeviceGraph>> HostStreams::Capture(
    const RecordedForward& forward, Values& outputs) {
  const std::lock_guard lock(mutex_);
  if (const std::string why_not = state_.why_no_graphs; !why_not.empty()) {
    return absl::FailedPreconditionError(why_not);
  }
  Values given;
  if (absl::Status status = forward(given); !status.ok()) {
    return status;
  }
  outputs.clear();
  for (const c10::IValue& output : given) {
    outputs.emplace_back(output.toTensor().clone(at::MemoryFormat::Contiguous));
  }
  return std::make_unique<HostGraph>(*this, forward, outputs);
}

inline std::unique_ptr<DeviceEvent> HostStreams::MakeEvent() {
  return std::make_unique<HostEvent>(*this);
}

// Memory of the process that may end.
class ShortMemory final : public HostMemory {
 public:
  static constexpr int kNoEnd = 1'000'000;

  std::byte* Allocate(size_t bytes) override {
    if (left.fetch_sub(1) <= 0) {
      throw std::bad_alloc();
    }
    return plain_->Allocate(bytes);
  }
  void Free(std::byte* bytes, size_t size) override {
    plain_->Free(bytes, size);
  }

  std::atomic<int> left{kNoEnd};  // allocations

 private:
  const std::shared_ptr<HostMemory> plain_ = HostMemory::Plain();
};

class HostRuntime final : public DeviceRuntime {
 public:
  at::Device device() const override { return at::kCPU; }
  std::string architecture() const override { return ""; }
  std::shared_ptr<HostMemory> host_memory() override { return memory; }
  std::unique_ptr<DeviceStreams> MakeStreams() override {
    return std::make_unique<HostStreams>(state);
  }
  bool IsLost() override { return is_lost; }
  void FreeKept() override {
    ++times_freed;
    if (state.in_turn.load() == std::this_thread::get_id()) {
      state.faults.emplace_back("memory is freed within a turn");
    }
  }
  bool TakeOutOfMemory() override { return is_out_of_memory.exchange(false); }
  void BeginWarmUp() override { ++warm_ups; }
  void EndWarmUp() override { --warm_ups; }

  std::atomic<bool> is_lost{false};
  std::atomic<bool> is_out_of_memory{false};
  std::atomic<int> times_freed{0};
  std::atomic<int> warm_ups{0};  // that go on
  const std::shared_ptr<ShortMemory> memory = std::make_shared<ShortMemory>();

  // What its streams were told in no order, or not waited for; of all of them.
  const std::vector<std::string>& faults() const { return state.faults; }

  HostStreamsState state;
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_DEVICE_HOST_RUNTIME_H_
