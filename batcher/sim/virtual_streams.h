// VirtualStreams is an instance on a device whose copy in, compute and copy out
// run at once, on a clock that its user moves. It takes a batch through the
// same DevicePipeline as a real device: order, overlap and errors are those of
// DeviceInstance, without its threads.
//
// One thread gathers and starts batches, each in its turn, and one waits: what
// ends while that one waits for something else is seen later, as in the real
// one. It computes nothing: outputs have no tensors.
//
// Thread safety: one thread.
#ifndef FERRY_BATCHER_SIM_VIRTUAL_STREAMS_H_
#define FERRY_BATCHER_SIM_VIRTUAL_STREAMS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "batcher/device_model.h"
#include "batcher/internal/device_pipeline.h"
#include "batcher/sim/virtual_instances.h"
#include "tensor/host_output_pool.h"

namespace ferry {

// What a step takes: `batch` and `row` for each row.
struct StepTime {
  Duration batch{0};
  Duration row{0};

  Duration Of(int32_t rows) const { return batch + rows * row; }
};

struct VirtualStreamsOptions {
  int32_t max_in_flight = 2;  // batches whose compute has not ended
  int32_t max_batch_size = 64;
  StepTime gather = {};   // on the thread that starts batches
  StepTime copy_in = {};  // on the device, as the two below
  StepTime compute = {Milliseconds(1), Milliseconds(0.1)};
  StepTime copy_out = {};
  int64_t fail_every = 0;   // each n-th batch fails to compute; 0: none does
  int64_t lost_after = -1;  // the device is lost after so many; -1: never
  bool is_lost_at_copy_out = false;  // else when a batch is computed
};

class VirtualStreams final : public VirtualInstances {
 public:
  // `clock` outlives it.
  VirtualStreams(const VirtualStreamsOptions& options,
                 const VirtualClock& clock);
  ~VirtualStreams() override;

  PulledInstances pulled() const override;

  // A batch is gathered, or is seen to have been computed or copied out.
  TimePoint next_event() const override;
  void PlayNext() override;

  Duration busy() const override { return model_.busy(); }
  int64_t batches() const override { return model_.batches(); }
  int64_t rows() const override { return model_.rows(); }

 private:
  // The device: each of its three streams takes its steps in order.
  class Model final : public DeviceModel {
   public:
    Model(const VirtualStreamsOptions& options, const VirtualClock& clock);

    const ModelSpec& spec() const override { return spec_; }
    int32_t places() const override { return options_.max_in_flight + 1; }
    absl::Status WarmUp() override { return absl::OkStatus(); }
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
    bool IsLost(bool at_copy_out) const {
      return options_.is_lost_at_copy_out == at_copy_out &&
             options_.lost_after >= 0 && batches_ > options_.lost_after;
    }

    const VirtualStreamsOptions options_;
    const VirtualClock& clock_;
    const ModelSpec spec_;
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

  bool HasRoom(InstanceId id) const override;
  void Begin(InstanceId id, BatchPtr batch) override;
  TimePoint next_start() const;
  TimePoint next_seen() const;

  const VirtualStreamsOptions options_;
  const VirtualClock& clock_;
  Model model_;
  DevicePipeline pipeline_;
  BatchPtr gathering_;  // at most one: the thread that gathers pulls it
  TimePoint gathered_;  // when it is gathered
  std::deque<DevicePipeline::InFlight> in_flight_;
  int32_t not_computed_ = 0;  // batches, that which is gathered included
  bool is_computed_ = false;  // the first of those in flight
  TimePoint waits_since_;     // the waiting thread, for what it waits for now
};

}  // namespace ferry

#endif  // FERRY_BATCHER_SIM_VIRTUAL_STREAMS_H_
