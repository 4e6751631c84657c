// TorchDeviceModel is a DeviceModel that runs a Network on a device: rows are
// copied in as they came, cast there, computed, cast back and copied out, each
// on a stream of its own, so that a batch is copied while another computes.
//
// Guarantees: a forward that fails or throws fails its batch with a constant
// text and is told in full to the local log; the next batch runs, unless the
// device is lost. Where it has no memory for a batch, that is computed in
// halves, once, and so are those that follow until the model is loaded anew;
// where a half has none either, or rows depend on each other, the batch fails.
//
// Memory of the host and of the device is allocated in warm-up for the largest
// batch; later only where sizes vary, or replies are held for long, which is
// counted.
//
// Thread safety: that of DeviceModel; counts() from any thread.
#ifndef FERRY_MODELS_TORCH_DEVICE_TORCH_DEVICE_MODEL_H_
#define FERRY_MODELS_TORCH_DEVICE_TORCH_DEVICE_MODEL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "batcher/device_model.h"
#include "models/config/model_options.h"
#include "models/torch/device/device_input.h"
#include "models/torch/device/device_outputs.h"
#include "models/torch/device/device_runtime.h"
#include "models/torch/device/forward_graphs.h"
#include "models/torch/device/staging_memory.h"
#include "models/torch/network.h"
#include "models/torch/output_fit.h"

namespace ferry {

// Whether a batch may be computed in halves: not where a row of it depends on
// the others.
enum class Halves : uint8_t { kNone, kAllowed };

class TorchDeviceModel final : public DeviceModel {
 public:
  // `runtime` outlives it. REQUIRES: no tensor of the spec is of type BYTES.
  TorchDeviceModel(std::unique_ptr<Network> network,
                   const ModelOptions& options, DeviceRuntime& runtime,
                   Halves halves);
  ~TorchDeviceModel() override;

  const ModelSpec& spec() const override { return options_.spec; }
  int32_t places() const override {
    return static_cast<int32_t>(places_.size());
  }

  // Warms up by the rules of models/torch/warm_up.h, and records graphs.
  absl::Status WarmUp() override;
  std::string warm_up_failure() const override { return warm_up_failure_; }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return warm_up_times_;
  }
  std::vector<DeviceCount> counts() const override;

  DeviceOutcome CopyIn(int32_t place, const Batch& batch) override;
  DeviceOutcome Compute(int32_t place, const Batch& batch,
                        OutputRef& output) override;
  DeviceOutcome AwaitComputed(int32_t place, DeviceTimes& times) override;
  DeviceOutcome AwaitCopiedOut(int32_t place) override;
  std::optional<Duration> IdleBetween(int32_t before, int32_t place) override;

 private:
  // What a batch has on both sides until it is copied out.
  struct Place {
    std::vector<DeviceInput::Wire> inputs;  // [spec input]
    DeviceOutputs::Rooms outputs;
    std::unique_ptr<DeviceEvent> copy_begin, copied_in;
    std::unique_ptr<DeviceEvent> compute_begin, computed;
    std::unique_ptr<DeviceEvent> copied_out;
    OutputRef warmed = {};  // in warm-up: that of its last batch
  };

  Place MakePlace();
  Place& place_at(int32_t place) { return places_[static_cast<size_t>(place)]; }
  absl::Status RunBatch(const Batch& batch);
  absl::Status CopyRowsIn(Place& place, const Batch& batch);
  absl::Status ComputeRows(Place& place, const Batch& batch, OutputRef& output);
  absl::Status PutCompute(Place& place, const Batch& batch, int32_t& next);
  absl::Status ComputePieces(Place& place, const Batch& batch, int32_t& next);
  absl::Status ComputePiece(Place& place, const Batch& batch,
                            const RowRange& rows);
  absl::Status WithMemory(absl::FunctionRef<absl::Status()> work);
  RowRange RangeFrom(int32_t first, const Batch& batch) const;
  bool Halve(const RowRange& rows);
  void FreeKept();
  // Tells the local log; `text` is for clients.
  DeviceOutcome Told(const absl::Status& status, const char* step,
                     const char* text);

  ModelOptions options_;
  const Halves halves_;
  DeviceRuntime& runtime_;
  const std::unique_ptr<DeviceStreams> streams_;
  const std::shared_ptr<StagingMemory> memory_;  // replies may hold it
  const std::unique_ptr<Network> network_;
  ForwardGraphs graphs_;
  OutputFit fit_;
  std::vector<DeviceInput> inputs_;  // [spec input]
  DeviceOutputs outputs_;
  std::vector<Place> places_;
  Values staged_;      // of the rows computed last
  Values given_;       // by the network
  int32_t most_rows_;  // that are computed at once
  // Others that serve do not wait for its batches, which may take long.
  bool is_warming_up_ = true;
  std::atomic<uint64_t> out_of_memory_{0};
  std::vector<ServiceTimeSample> warm_up_times_;
  std::string warm_up_failure_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_DEVICE_TORCH_DEVICE_MODEL_H_
