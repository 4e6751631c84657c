// Warm-up, staging, compute, copying out.
#include "models/torch/torch_model.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "batcher/batch_buckets.h"
#include "batcher/padding.h"
#include "models/failure_log.h"
#include "models/torch/cast.h"
#include "models/torch/cut_rows.h"
#include "models/torch/shapes.h"
#include "models/torch/texts.h"
#include "models/torch/types.h"
#include "models/torch/warm_up.h"

namespace ferry {
namespace {

constexpr int32_t kMaxIdleOutputs = 8;

absl::Span<const int64_t> SpanOf(at::IntArrayRef sizes) {
  return {sizes.data(), sizes.size()};
}

}  // namespace

TorchModel::TorchModel(std::shared_ptr<Network> network,
                       const ModelOptions& options)
    : network_(std::move(network)),
      options_(options),
      has_rows_(options.spec.max_batch_size > 0),
      pool_(options.spec.outputs.size(), kMaxIdleOutputs),
      inputs_(options.spec.inputs.size()),
      text_dims_(options.spec.outputs.size()) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    staged_.emplace_back(options_, i, network_->input_type(i));
  }
}

// --- warm-up -----------------------------------------------------------------

absl::Status TorchModel::WarmUp() {
  at::set_num_threads(options_.threads);
  const auto run_batch = [this](const Batch& batch) { return Run(batch); };
  ferry::WarmUp warm_up(options_, network_->warm_up_runs(), run_batch);
  const absl::Status status = warm_up.Run();
  warm_up_times_ = std::move(warm_up.times());
  warm_up_failure_ = warm_up.failure();
  options_.warm_up.clear();
  return status;
}

// Stages and computes; of what is thrown, says with which inputs.
absl::Status TorchModel::Run(const Batch& batch) {
  OutputRef output;
  absl::Status status = StageRows(batch);
  if (status.ok()) {
    status = ComputeRows(batch, output);
  }
  if (!absl::IsInternal(status)) {
    return status;
  }
  return absl::InternalError(
      absl::StrCat("with ", InputShapes(), ": ", status.message()));
}

// --- a batch -----------------------------------------------------------------

absl::Status TorchModel::StageRows(const Batch& batch) {
  return Guarded([&] {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = staged_[i].Stage(batch, BucketFor(batch.rows()));
    }
    return absl::OkStatus();
  });
}

absl::Status TorchModel::ComputeRows(const Batch& batch, OutputRef& output) {
  return Guarded([&] {
    absl::Status computed = Forward(BucketFor(batch.rows()));
    if (computed.ok()) {
      output = pool_.Take();
      CopyOut(batch, *output.get());
    }
    return computed;
  });
}

Outcome TorchModel::Stage(const Batch& batch) {
  const absl::Status status = StageRows(batch);
  if (!status.ok()) {
    LogModelFailure(options_.name, "stage", status.message());
    return {absl::StatusCode::kInternal, "the inputs could not be staged"};
  }
  return {};
}

Outcome TorchModel::Compute(const Batch& batch, OutputRef& output) {
  const absl::Status status = ComputeRows(batch, output);
  outputs_.clear();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (options_.spec.inputs[i].type == DataType::kBytes) {
      inputs_[i] = {};  // strings of their own, not a view of a room
    }
  }
  if (!status.ok()) {
    LogModelFailure(options_.name, "forward", status.message());
    return {absl::StatusCode::kInternal, "the model failed on this batch"};
  }
  return {};
}

// "'x' [1,3], 'y' [1,5]"
std::string TorchModel::InputShapes() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].isTensor()) {
      texts.push_back(
          absl::StrCat("'", options_.spec.inputs[i].name, "' [",
                       absl::StrJoin(inputs_[i].toTensor().sizes(), ","), "]"));
    }
  }
  return absl::StrJoin(texts, ", ");
}

int32_t TorchModel::BucketFor(int32_t rows) const {
  return PaddedRows(options_.buckets, rows);
}

absl::Status TorchModel::Forward(int32_t rows) {
  outputs_.clear();
  absl::Status status = network_->Forward(inputs_, outputs_);
  for (size_t i = 0; status.ok() && i < options_.spec.outputs.size(); ++i) {
    if (options_.spec.outputs[i].type == DataType::kBytes) {
      status = CheckTexts(i, rows);
      continue;
    }
    if (!outputs_[i].isTensor()) {
      return WrongKind(i, "a tensor");
    }
    const auto& reshapes = options_.output_reshapes;
    if (!reshapes.empty() && reshapes[i].has_value()) {
      status = Reshape(i, rows, *reshapes[i]);
    }
    status.Update(CheckOutput(i, rows));
  }
  return status;
}

absl::Status TorchModel::CheckTexts(size_t output, int32_t rows) {
  if (!IsTexts(outputs_[output])) {
    return WrongKind(output, "a list of strings");
  }
  return FindRowDims(options_.spec.outputs[output], rows,
                     std::ssize(outputs_[output].toListRef()),
                     text_dims_[output]);
}

// From the shape that the model gives to that of the wire.
absl::Status TorchModel::Reshape(size_t output, int32_t rows,
                                 absl::Span<const int64_t> given) {
  const at::Tensor& found = outputs_[output].toTensor();
  const std::vector<int64_t> expected = Shape(has_rows_, rows, given);
  if (!MatchesSizes(expected, SpanOf(found.sizes()))) {
    return WrongShape(output, expected, found);
  }
  const at::IntArrayRef dims =
      has_rows_ ? found.sizes().slice(1) : found.sizes();
  const std::vector<int64_t> wire =
      ResolveSizes(given, SpanOf(dims), options_.spec.outputs[output].dims);
  outputs_[output] = found.reshape(Shape(has_rows_, rows, wire));
  return absl::OkStatus();
}

absl::Status TorchModel::WrongKind(size_t output, const char* expected) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "output '", options_.spec.outputs[output].name, "': expected ", expected,
      ", the model gives ", outputs_[output].tagKind()));
}

absl::Status TorchModel::WrongShape(size_t output,
                                    absl::Span<const int64_t> expected,
                                    const at::Tensor& found) const {
  const std::string text = absl::StrCat(
      "output '", options_.spec.outputs[output].name, "': expected shape [",
      absl::StrJoin(expected, ","), "], the model gives [",
      absl::StrJoin(found.sizes(), ","), "]");
  const bool differs_in_size_only =
      std::ssize(expected) == found.dim() &&
      (!has_rows_ || found.size(0) == expected[0]);
  return differs_in_size_only ? absl::OutOfRangeError(text)
                              : absl::InvalidArgumentError(text);
}

absl::Status TorchModel::CheckOutput(size_t output, int32_t rows) const {
  const TensorSpec& spec = options_.spec.outputs[output];
  const std::vector<int64_t> expected =
      Shape(has_rows_, rows, ExpectedRow(output));
  const at::Tensor& found = outputs_[output].toTensor();
  if (!MatchesSizes(expected, SpanOf(found.sizes()))) {
    return WrongShape(output, expected, found);
  }
  const at::ScalarType type = ToScalarType(spec.type);
  if (found.scalar_type() != type &&
      !(found.is_floating_point() && at::isFloatingType(type))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output '", spec.name, "': expected ", DataTypeName(spec.type),
        ", the model gives ", c10::toString(found.scalar_type())));
  }
  return absl::OkStatus();
}

std::vector<int64_t> TorchModel::ExpectedRow(size_t output) const {
  const TensorSpec& spec = options_.spec.outputs[output];
  std::vector<int64_t> dims = spec.dims;
  if (spec.follows.has_value()) {
    const size_t varying =
        *VaryingDim(options_.spec.inputs[*spec.follows].dims);
    dims[*VaryingDim(dims)] = inputs_[*spec.follows].toTensor().size(
        static_cast<int64_t>(varying) + (has_rows_ ? 1 : 0));
  }
  return dims;
}

void TorchModel::CopyOut(const Batch& batch, OutputBuffer& buffer) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (options_.spec.outputs[i].follows.has_value()) {
      CopyCutRows(batch, options_.spec, i, outputs_[i].toTensor(), buffer);
    } else if (options_.spec.outputs[i].type == DataType::kBytes) {
      CopyTexts(outputs_[i], batch.rows(), text_dims_[i], i, buffer);
    } else {
      CopyOut(batch.rows(), i, buffer);
    }
  }
}

void TorchModel::CopyOut(int32_t rows, size_t output, OutputBuffer& buffer) {
  const DataType type = options_.spec.outputs[output].type;
  const at::Tensor& all = outputs_[output].toTensor();
  // Rows that only filled the bucket come after those of the batch.
  const at::Tensor own =
      (has_rows_ && all.size(0) != rows ? all.narrow(0, 0, rows) : all)
          .contiguous();
  HostOutputPool::Layout(
      buffer, output, rows, type,
      SpanOf(has_rows_ ? own.sizes().slice(1) : own.sizes()));
  CastElements({own.data_ptr(), own.scalar_type()},
               {buffer.mutable_tensors()[output].data, ToScalarType(type)},
               own.numel());
}

// Runs `work` without gradients and turns what LibTorch throws into a Status.
absl::Status TorchModel::Guarded(absl::FunctionRef<absl::Status()> work) const {
  try {
    const c10::InferenceMode no_gradients;
    return work();
  } catch (const c10::Error& error) {
    return absl::InternalError(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace ferry
