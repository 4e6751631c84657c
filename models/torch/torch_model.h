// TorchModel is a CpuModel that gathers rows into tensors, runs a Network, and
// copies its outputs to where the replies read them.
//
// Floats are cast to the model's precision, if it has one, on the way in and to
// the type on the wire on the way out; integers and bools pass unchanged, but
// for bytes that the config has normalized. A batch is padded with zero rows to
// the next bucket where the model has buckets.
//
// Guarantees: a forward that fails or throws fails its batch with a constant
// text and is logged in full; the next batch runs.
//
// Thread safety: that of CpuModel. How many threads LibTorch uses inside an
// operator is set for the thread that runs batches.
#ifndef FERRY_MODELS_TORCH_TORCH_MODEL_H_
#define FERRY_MODELS_TORCH_TORCH_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batcher/cpu_model.h"
#include "models/config/model_options.h"
#include "models/torch/network.h"
#include "models/torch/output_fit.h"
#include "models/torch/staged_input.h"
#include "tensor/host_output_pool.h"

namespace ferry {

class TorchModel final : public CpuModel {
 public:
  // `network` is shared by the instances of a model: they have the same
  // weights.
  TorchModel(std::shared_ptr<Network> network, const ModelOptions& options);

  const ModelSpec& spec() const override { return options_.spec; }

  // Warms up by the rules of models/torch/warm_up.h.
  absl::Status WarmUp() override;
  std::string warm_up_failure() const override { return warm_up_failure_; }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return warm_up_times_;
  }

  Outcome Gather(const Batch& batch) override;
  Outcome Compute(const Batch& batch, OutputRef& output) override;

 private:
  int32_t BucketFor(int32_t rows) const;
  absl::Status Run(const Batch& batch);
  absl::Status GatherInputs(const Batch& batch);
  absl::Status ComputeRows(const Batch& batch, OutputRef& output);
  absl::Status Forward(int32_t rows);
  void CopyOut(const Batch& batch, OutputBuffer& buffer);
  void CopyOut(int32_t rows, size_t output, OutputBuffer& buffer);

  const std::shared_ptr<Network> network_;
  ModelOptions options_;
  const bool has_rows_;  // tensors have a batch dimension
  const FaultsOf faults_of_;
  OutputFit fit_;
  std::vector<ServiceTimeSample> warm_up_times_;
  std::string warm_up_failure_;
  absl::Status first_failure_;  // of a run in warm-up
  HostOutputPool pool_;
  std::vector<StagedInput> staging_;  // [spec input]
  Values inputs_;                     // views of it
  Values outputs_;                    // of the batch computed last
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_TORCH_MODEL_H_
