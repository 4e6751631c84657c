// VirtualStreams: a Backend with a copy in, a compute and a copy out that run
// at once, on a clock that its user moves. It takes a batch through the same
// StreamPipeline as a real device: order, overlap, slots and errors are those
// of StreamBackend, without its threads.
//
// One thread gathers and starts batches, each in its turn, and one waits: what
// ends while that one waits for something else is seen later, as in the real
// one. It computes nothing: outputs have no tensors.
//
// Thread safety: one thread, which also steps the batcher.
#ifndef FERRY_BATCHER_SIM_VIRTUAL_STREAMS_H_
#define FERRY_BATCHER_SIM_VIRTUAL_STREAMS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "batcher/backend.h"
#include "batcher/host_output_pool.h"
#include "batcher/sim/virtual_backend.h"
#include "batcher/stream_model.h"
#include "batcher/stream_pipeline.h"

namespace ferry {

// What a step takes: `batch` and `row` for each row.
struct StepTime {
  Duration batch{0};
  Duration row{0};

  Duration Of(int32_t rows) const { return batch + rows * row; }
};

struct VirtualStreamsOptions {
  int32_t slots = 2;
  int32_t max_batch_size = 64;
  StepTime gather = {};   // on the thread that starts batches
  StepTime copy_in = {};  // on the device, as the two below
  StepTime compute = {Milliseconds(1), Milliseconds(0.1)};
  StepTime copy_out = {};
  int64_t fail_every = 0;   // each n-th batch fails to compute; 0: none does
  int64_t lost_after = -1;  // the device is lost after so many; -1: never
};

class VirtualStreams final : public VirtualBackend {
 public:
  // `clock` outlives it.
  VirtualStreams(const VirtualStreamsOptions& options,
                 const VirtualClock& clock);
  ~VirtualStreams() override;

  const ModelSpec& spec() const override { return model_.spec(); }
  int32_t lanes() const override { return 1; }
  int32_t slots() const override { return options_.slots; }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return model_.warm_up_samples();
  }
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override;

  // A batch is gathered, or is seen to have been computed or copied out.
  TimePoint next_event() const override;
  void PlayNext() override;

  Duration busy() const override { return model_.busy(); }
  int64_t batches() const override { return model_.batches(); }
  int64_t rows() const override { return model_.rows(); }

 private:
  // The device: each of its three streams takes its steps in order.
  class Model final : public StreamModel {
   public:
    Model(const VirtualStreamsOptions& options, const VirtualClock& clock);

    const ModelSpec& spec() const override { return spec_; }
    int32_t places() const override { return options_.slots + 1; }
    absl::Status WarmUp() override { return absl::OkStatus(); }
    absl::Span<const ServiceTimeSample> warm_up_samples() const override {
      return warm_up_samples_;
    }
    DeviceOutcome CopyIn(int32_t place, const Batch& batch) override;
    DeviceOutcome Compute(int32_t place, const Batch& batch,
                          OutputRef& output) override;
    DeviceOutcome AwaitComputed(int32_t place, DeviceTimes& times) override;
    DeviceOutcome AwaitCopiedOut(int32_t place) override;

    TimePoint computed(int32_t place) const { return of(place).computed; }
    TimePoint copied_out(int32_t place) const { return of(place).copied_out; }
    Duration busy() const { return busy_; }
    int64_t batches() const { return computed_batches_; }
    int64_t rows() const { return computed_rows_; }

   private:
    struct Place {
      int32_t rows = 0;
      TimePoint copied_in;
      TimePoint computed;
      TimePoint copied_out;
      DeviceTimes times = {};
      bool fails = false;
    };

    Place& of(int32_t place) { return places_[static_cast<size_t>(place)]; }
    const Place& of(int32_t place) const {
      return places_[static_cast<size_t>(place)];
    }

    const VirtualStreamsOptions options_;
    const VirtualClock& clock_;
    const ModelSpec spec_;
    const std::array<ServiceTimeSample, 2> warm_up_samples_;
    HostOutputPool pool_;
    std::vector<Place> places_;
    // When each stream has done all that it was given.
    TimePoint copy_in_free_;
    TimePoint compute_free_;
    TimePoint copy_out_free_;
    int64_t batches_ = 0;  // that began
    Duration busy_{0};     // of those that were seen to have been computed
    int64_t computed_batches_ = 0;
    int64_t computed_rows_ = 0;
  };

  TimePoint next_start() const;
  TimePoint next_seen() const;

  const VirtualStreamsOptions options_;
  const VirtualClock& clock_;
  Model model_;
  StreamPipeline pipeline_;
  std::deque<Work> to_start_;
  TimePoint gathered_;  // what is first of those, once it is there
  std::deque<StreamPipeline::Flight> under_way_;
  bool has_landed_ = false;  // the first of those
  TimePoint waits_since_;    // the waiting thread, for what it waits for now
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_VIRTUAL_STREAMS_H_
