// TorchInstance runs one instance of a model on LibTorch as the test drives it.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_MODELS_TORCH_TORCH_INSTANCE_H_
#define FERRY_TESTS_MODELS_TORCH_TORCH_INSTANCE_H_

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "batcher/batch.h"
#include "models/torch/torch_entry.h"
#include "models/torch/types.h"

namespace ferry {

// What a batch came to: outputs copied to tensors of their types on the wire.
struct InstanceResult {
  Outcome outcome;
  std::vector<at::Tensor> outputs;
};

class TorchInstance {
  struct Row {
    // row -1: all of the tensors.
    Row(const std::vector<at::Tensor>& inputs, int64_t row)
        : tensors(inputs.size()), segments(inputs.size()) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        tensors[i] = (row < 0 ? inputs[i] : inputs[i][row]).contiguous();
        const auto* bytes = static_cast<std::byte*>(tensors[i].data_ptr());
        const size_t size = tensors[i].nbytes();
        const size_t first = size / 2 - size / 2 % 2 + (size > 2 ? 1 : 0);
        segments[i] = {{bytes, first}, {bytes + first, size - first}};
        const at::IntArrayRef dims = tensors[i].sizes();
        views.push_back({{dims.data(), dims.size()}, segments[i]});
      }
      request.inputs = views;
    }

    std::vector<at::Tensor> tensors;
    std::vector<std::vector<ferry::ByteSegment>> segments;
    std::vector<TensorView> views;
    InferRequest request;
  };

 public:
  // Loads and warms up.
  static absl::StatusOr<TorchInstance> Create(const ModelOptions& options,
                                              const std::string& path) {
    CpuModelsOrStatus models = absl::InternalError("not loaded");
    TorchInstance instance;
    FerryLoadTorchModels(options, path, instance.report_, models);
    if (!models.ok()) {
      return models.status();
    }
    instance.model_ = std::move(models->front());
    if (absl::Status status = instance.model_->WarmUp(); !status.ok()) {
      return status;
    }
    return instance;
  }

  const ModelSpec& spec() const { return model_->spec(); }
  std::string warm_up_failure() const { return model_->warm_up_failure(); }

  const LoadReport& report() const { return report_; }

  // Runs one batch of single rows: row i of each input [rows, ...] is brought
  // by a request of its own, in two runs that split an element.
  InstanceResult Run(const std::vector<at::Tensor>& inputs) {
    const bool is_batched = model_->spec().max_batch_size > 0;
    const int64_t rows = is_batched ? inputs.front().size(0) : 1;
    Batch batch(static_cast<int32_t>(rows), static_cast<int32_t>(rows));
    std::vector<std::unique_ptr<Row>> requests;
    for (int64_t row = 0; row < rows; ++row) {
      requests.push_back(std::make_unique<Row>(inputs, is_batched ? row : -1));
      batch.Add(requests.back()->request);
    }
    batch.Close(TimePoint(), CloseReason::kFull, /*sequence=*/0);
    InstanceResult result;
    result.outcome = model_->Gather(batch);
    OutputRef output;
    if (result.outcome.ok()) {
      result.outcome = model_->Compute(batch, output);
    }
    if (result.outcome.ok()) {
      result.outputs = Copy(*output.get(), batch.rows());
    }
    return result;
  }

 private:
  std::vector<at::Tensor> Copy(const OutputBuffer& buffer, int64_t rows) const {
    std::vector<at::Tensor> outputs;
    const ModelSpec& spec = model_->spec();
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      const OutputTensor& tensor = buffer.tensors()[i];
      std::vector<int64_t> dims(tensor.row_dims.begin(), tensor.row_dims.end());
      if (spec.max_batch_size > 0) {
        dims.insert(dims.begin(), rows);
      }
      outputs.push_back(
          at::from_blob(tensor.data, dims, ToScalarType(spec.outputs[i].type))
              .clone());
    }
    return outputs;
  }

  LoadReport report_;
  std::unique_ptr<CpuModel> model_;
};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_TORCH_INSTANCE_H_
