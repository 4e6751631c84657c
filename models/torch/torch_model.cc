// Warm-up, staging, compute, copying out.
#include "models/torch/torch_model.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/failure_log.h"
#include "models/torch/cast.h"
#include "models/torch/shapes.h"
#include "models/torch/texts.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

constexpr int32_t kMaxIdleOutputs = 8;
// Size of a dimension that varies, in warm-up.
constexpr int64_t kWarmUpSize = 16;
// Time for warming up sizes that are no power of two.
constexpr Duration kWarmUpBudget = std::chrono::seconds(2);

absl::Span<const int64_t> SpanOf(at::IntArrayRef sizes) {
  return {sizes.data(), sizes.size()};
}

}  // namespace

TorchModel::TorchModel(std::shared_ptr<Network> network,
                       const ModelOptions& options)
    : network_(std::move(network)),
      options_(options),
      has_rows_(options.spec.max_batch_size > 0),
      has_variable_shape_(HasVariableShape(options.spec)),
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
  const Clock& clock = Clock::Steady();
  TimePoint budget_end = kNever;
  for (int32_t rows : WarmUpSizes()) {
    const bool is_required = (rows & (rows - 1)) == 0 ||
                             rows == options_.spec.max_batch_size ||
                             !options_.buckets.empty();
    if (!is_required) {
      budget_end = std::min(budget_end, clock.Now() + kWarmUpBudget);
      if (clock.Now() >= budget_end) {
        break;
      }
    }
    if (absl::Status status = WarmUpSize(rows); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

std::vector<int32_t> TorchModel::WarmUpSizes() const {
  if (!options_.buckets.empty()) {
    return options_.buckets;
  }
  const int32_t max = std::max(options_.spec.max_batch_size, 1);
  std::vector<int32_t> sizes;
  for (int32_t rows = 1; rows < max; rows *= 2) {
    sizes.push_back(rows);
  }
  sizes.push_back(max);
  for (int32_t rows = 3; rows < max; ++rows) {
    if ((rows & (rows - 1)) != 0) {
      sizes.push_back(rows);
    }
  }
  return sizes;
}

absl::Status TorchModel::WarmUpSize(int32_t rows) {
  absl::Status status;
  Duration took{0};
  for (int run = 0; run < network_->warm_up_runs() && status.ok(); ++run) {
    const TimePoint begin = Clock::Steady().Now();
    status = Guarded([&] {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        inputs_[i] = staged_[i].Zeros(rows, kWarmUpSize);
      }
      return Forward(rows);
    });
    took = Clock::Steady().Now() - begin;
  }
  if (status.ok()) {
    warm_up_samples_.push_back({.rows = rows, .took = took});
  }
  if (absl::IsInternal(status)) {  // thrown: forward() does not say by what
    status = absl::InternalError(absl::StrCat("forward() of zeros fails, with ",
                                              InputShapes(), ": ",
                                              status.message()));
  }
  // Zeros of a made-up size may be none that the model takes.
  if (!status.ok() && has_variable_shape_) {
    LogModelFailure(options_.name, "warm-up with dims of any size set to 16",
                    status.message());
    return absl::OkStatus();
  }
  return status;
}

// --- a batch -----------------------------------------------------------------

Outcome TorchModel::Stage(const Batch& batch) {
  const absl::Status status = Guarded([&] {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = staged_[i].Stage(batch, BucketFor(batch.rows()));
    }
    return absl::OkStatus();
  });
  if (!status.ok()) {
    LogModelFailure(options_.name, "stage", status.message());
    return {absl::StatusCode::kInternal, "the inputs could not be staged"};
  }
  return {};
}

Outcome TorchModel::Compute(const Batch& batch, OutputRef& output) {
  const absl::Status status = Guarded([&] {
    absl::Status computed = Forward(BucketFor(batch.rows()));
    if (computed.ok()) {
      output = pool_.Take();
      CopyOut(batch, *output.get());
    }
    return computed;
  });
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
  const auto bucket =
      std::lower_bound(options_.buckets.begin(), options_.buckets.end(), rows);
  return bucket == options_.buckets.end() ? rows : *bucket;
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
  return absl::InvalidArgumentError(absl::StrCat(
      "output '", options_.spec.outputs[output].name, "': expected shape [",
      absl::StrJoin(expected, ","), "], the model gives [",
      absl::StrJoin(found.sizes(), ","), "]"));
}

absl::Status TorchModel::CheckOutput(size_t output, int32_t rows) const {
  const TensorSpec& spec = options_.spec.outputs[output];
  const std::vector<int64_t> expected = Shape(has_rows_, rows, spec.dims);
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

void TorchModel::CopyOut(const Batch& batch, OutputBuffer& buffer) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (options_.spec.outputs[i].type == DataType::kBytes) {
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
