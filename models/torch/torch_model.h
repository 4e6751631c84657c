// TorchModel: a HostModel that stages rows into tensors, runs a Network, and
// copies its outputs to where the replies read them.
//
// Floats are cast to the model's precision, if it has one, on the way in and to
// the type on the wire on the way out; integers and bools pass unchanged, but
// for bytes that the config has normalized. A batch is padded with zero rows to
// the next bucket where the model has buckets.
//
// Guarantees: a forward that fails or throws fails its batch with a constant
// text and is told in full to the local log; the next batch runs.
//
// Thread safety: that of HostModel. How many threads LibTorch uses inside an
// operator is set for each thread that runs batches. A model of one runs on
// any; a package of AOTInductor may have the number of its threads compiled in,
// which each thread would get.
#ifndef FERRY_MODELS_TORCH_TORCH_MODEL_H_
#define FERRY_MODELS_TORCH_TORCH_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batcher/host_model.h"
#include "batcher/host_output_pool.h"
#include "models/model_options.h"
#include "models/torch/network.h"
#include "models/torch/output_fit.h"
#include "models/torch/staged_input.h"

namespace ferry {

class TorchModel final : public HostModel {
 public:
  // `network` is shared by the lanes of a model: they have the same weights.
  TorchModel(std::shared_ptr<Network> network, const ModelOptions& options);

  const ModelSpec& spec() const override { return options_.spec; }

  // As models/torch/warm_up.h says.
  absl::Status WarmUp() override;
  std::string warm_up_failure() const override { return warm_up_failure_; }
  bool runs_on_any_thread() const override {
    return options_.threads == 1 &&
           options_.backend != BackendKind::kAotInductor;
  }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return warm_up_times_;
  }

  int32_t staging_places() const override {
    return static_cast<int32_t>(places_.size());
  }
  Outcome Stage(const Batch& batch) override;
  Outcome Compute(const Batch& batch, OutputRef& output) override;

 private:
  // Of a batch, from when it is staged until it is computed.
  struct Place {
    std::vector<StagedInput> rooms;  // [spec input]
    Values inputs;                   // views of them
  };

  int32_t BucketFor(int32_t rows) const;
  absl::Status Run(const Batch& batch);
  Place& PlaceOf(int64_t number) {
    return places_[static_cast<size_t>(number) % places_.size()];
  }
  absl::Status StageRows(const Batch& batch);
  absl::Status ComputeRows(const Batch& batch, const Values& inputs,
                           OutputRef& output);
  absl::Status Forward(const Values& inputs, int32_t rows);
  void CopyOut(const Batch& batch, OutputBuffer& buffer);
  void CopyOut(int32_t rows, size_t output, OutputBuffer& buffer);

  const std::shared_ptr<Network> network_;
  ModelOptions options_;
  const bool has_rows_;  // tensors have a batch dimension
  OutputFit fit_;
  std::vector<ServiceTimeSample> warm_up_times_;
  std::string warm_up_failure_;
  HostOutputPool pool_;
  std::vector<Place> places_;  // used in turn
  int64_t staged_ = 0;         // batches; whoever stages
  int64_t computed_ = 0;       // batches; whoever computes
  Values outputs_;             // of the batch computed last
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_TORCH_MODEL_H_
