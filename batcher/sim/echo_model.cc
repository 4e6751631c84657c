// Implements EchoModel: gathers rows straight into the output buffer.
#include "batcher/sim/echo_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "batcher/row_gather.h"
#include "tensor/bytes_elements.h"

namespace ferry {
namespace {

// Idle buffers kept: enough for batches in flight and replies being written.
constexpr int32_t kMaxIdleBuffers = 16;

}  // namespace

absl::Status EchoModel::CheckSpec(const ModelSpec& spec) {
  if (spec.inputs.size() != spec.outputs.size() || spec.inputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "echo: expected as many outputs as inputs and at least one, got ",
        spec.inputs.size(), " inputs and ", spec.outputs.size(), " outputs"));
  }
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    const TensorSpec& input = spec.inputs[i];
    const TensorSpec& output = spec.outputs[i];
    if (input.type != output.type || input.dims != output.dims) {
      return absl::InvalidArgumentError(
          absl::StrCat("echo: expected output '", output.name,
                       "' to have the type and dims of input '", input.name,
                       "', which it repeats"));
    }
    if (input.is_optional) {
      return absl::InvalidArgumentError(
          absl::StrCat("echo: input '", input.name,
                       "' must not be optional: an output repeats it"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<EchoModel>> EchoModel::Create(ModelSpec spec) {
  if (absl::Status status = CheckSpec(spec); !status.ok()) {
    return status;
  }
  return std::unique_ptr<EchoModel>(new EchoModel(std::move(spec)));
}

EchoModel::EchoModel(ModelSpec spec)
    : spec_(std::move(spec)), pool_(spec_.outputs.size(), kMaxIdleBuffers) {}

Outcome EchoModel::Gather(const Batch& batch) {
  gathered_ = pool_.Take();
  for (size_t i = 0; i < spec_.inputs.size(); ++i) {
    OutputTensor& gathered = gathered_->mutable_tensors()[i];
    if (spec_.inputs[i].type == DataType::kBytes) {
      const size_t bytes = GatheredBytes(batch, i);
      HostOutputPool::LayoutBytes(*gathered_.get(), i, bytes,
                                  batch.row_dims(i));
      GatherRows(batch, i, gathered.data);
      IndexBytesRows(batch.rows(), bytes, gathered);
    } else {
      HostOutputPool::Layout(*gathered_.get(), i, batch.rows(),
                             spec_.inputs[i].type, batch.row_dims(i));
      GatherRows(batch, i, gathered.data);
    }
  }
  return {};
}

Outcome EchoModel::Compute(const Batch&, OutputRef& output) {
  output = std::exchange(gathered_, OutputRef());
  return {};
}

}  // namespace ferry
