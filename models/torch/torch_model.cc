// Warm-up, staging, compute, copying out.
#include "models/torch/torch_model.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "batcher/checked_math.h"
#include "batcher/row_gather.h"
#include "models/failure_log.h"
#include "models/torch/cast.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

constexpr int32_t kMaxIdleOutputs = 8;
// Size of a dimension that varies, in warm-up.
constexpr int64_t kWarmUpSize = 16;
// Time for warming up sizes that are no power of two.
constexpr Duration kWarmUpBudget = std::chrono::seconds(2);

// Bytes of a bool on the wire may be any: they are read as UINT8, and all but
// 0 become true.
at::ScalarType WireType(DataType type) {
  return type == DataType::kBool ? at::kByte : ToScalarType(type);
}

std::vector<int64_t> Shape(bool has_rows, int32_t rows,
                           absl::Span<const int64_t> row_dims) {
  std::vector<int64_t> shape;
  if (has_rows) {
    shape.push_back(rows);
  }
  shape.insert(shape.end(), row_dims.begin(), row_dims.end());
  return shape;
}

// Returns `to` with the sizes of `from` that vary in place of kAnySize, in
// order. `spec` says which of `from` vary.
std::vector<int64_t> Resolve(absl::Span<const int64_t> spec,
                             absl::Span<const int64_t> from,
                             absl::Span<const int64_t> to) {
  std::vector<int64_t> resolved(to.begin(), to.end());
  auto next = resolved.begin();
  for (size_t i = 0; i < spec.size(); ++i) {
    if (spec[i] == kAnySize) {
      next = std::find(next, resolved.end(), kAnySize);
      if (next == resolved.end()) {
        break;
      }
      *next++ = from[i];
    }
  }
  return resolved;
}

int64_t RowElements(absl::Span<const int64_t> row_dims) {
  return ElementCount(row_dims).value_or(0);
}

// REQUIRES: contiguous.
Elements ElementsOf(const at::Tensor& tensor) {
  return {tensor.data_ptr(), tensor.scalar_type()};
}

// Makes `room` hold at least that many elements.
void Reserve(at::Tensor& room, int64_t elements, at::ScalarType type) {
  if (!room.defined() || room.numel() < elements) {
    room = at::empty({elements}, type);
  }
}

bool Matches(absl::Span<const int64_t> spec, at::IntArrayRef sizes) {
  return std::equal(spec.begin(), spec.end(), sizes.begin(), sizes.end(),
                    [](int64_t expected, int64_t found) {
                      return expected == kAnySize || expected == found;
                    });
}

}  // namespace

TorchModel::TorchModel(std::shared_ptr<Network> network,
                       const ModelOptions& options)
    : network_(std::move(network)),
      options_(options),
      has_rows_(options.spec.max_batch_size > 0),
      has_variable_shape_(HasVariableShape(options.spec)),
      pool_(options.spec.outputs.size(), kMaxIdleOutputs),
      rooms_(options.spec.inputs.size()),
      inputs_(options.spec.inputs.size()) {
  for (size_t i = 0; i < options.normalizations.size(); ++i) {
    if (options.normalizations[i].has_value()) {
      rooms_[i].normalizer.emplace(*options.normalizations[i]);
    }
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
        std::vector<int64_t> dims = options_.spec.inputs[i].dims;
        std::replace(dims.begin(), dims.end(), kAnySize, kWarmUpSize);
        PlaceInput(i, rows, dims);
        inputs_[i].zero_();
      }
      return Forward(rows);
    });
    took = Clock::Steady().Now() - begin;
  }
  if (status.ok()) {
    warm_up_samples_.push_back({.rows = rows, .took = took});
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
      StageInput(batch, i);
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
      CopyOut(batch.rows(), *output.get());
    }
    return computed;
  });
  outputs_.clear();
  if (!status.ok()) {
    LogModelFailure(options_.name, "forward", status.message());
    return {absl::StatusCode::kInternal, "the model failed on this batch"};
  }
  return {};
}

int32_t TorchModel::BucketFor(int32_t rows) const {
  const auto bucket =
      std::lower_bound(options_.buckets.begin(), options_.buckets.end(), rows);
  return bucket == options_.buckets.end() ? rows : *bucket;
}

// Makes inputs_[input] a view of `rows` rows. Where shapes are fixed the room
// is made once, for the largest batch.
void TorchModel::PlaceInput(size_t input, int32_t rows,
                            absl::Span<const int64_t> row_dims) {
  const DataType type = options_.spec.inputs[input].type;
  const int64_t row_elements = RowElements(row_dims);
  const int64_t room =
      row_elements *
      (has_variable_shape_ ? rows : std::max(options_.spec.max_batch_size, 1));
  Reserve(rooms_[input].staged, room,
          rooms_[input].normalizer.has_value()
              ? ToScalarType(options_.precision)
              : ComputeType(type, options_.precision));
  if (rooms_[input].staged.scalar_type() != WireType(type)) {
    Reserve(rooms_[input].wire, room, WireType(type));
  }
  const at::Tensor staged =
      rooms_[input].staged.narrow(0, 0, rows * row_elements);
  inputs_[input] =
      staged.view(Shape(has_rows_, rows, ModelRow(input, row_dims)));
}

std::vector<int64_t> TorchModel::ModelRow(
    size_t input, absl::Span<const int64_t> row_dims) const {
  const auto& reshapes = options_.input_reshapes;
  if (!reshapes.empty() && reshapes[input].has_value()) {
    return Resolve(options_.spec.inputs[input].dims, row_dims,
                   *reshapes[input]);
  }
  return rooms_[input].normalizer.has_value()
             ? ModelDims(*options_.normalizations[input], row_dims)
             : std::vector<int64_t>(row_dims.begin(), row_dims.end());
}

void TorchModel::StageInput(const Batch& batch, size_t input) {
  const int32_t rows = batch.rows();
  const absl::Span<const int64_t> row_dims = batch.row_dims(input);
  const int32_t padded_rows = BucketFor(rows);
  PlaceInput(input, padded_rows, row_dims);
  InputRoom& room = rooms_[input];
  const int64_t elements = rows * RowElements(row_dims);
  const bool is_cast = room.wire.defined();
  at::Tensor& received = is_cast ? room.wire : room.staged;
  GatherRows(batch, input, static_cast<std::byte*>(received.data_ptr()));
  if (room.normalizer.has_value()) {
    room.normalizer->Run(static_cast<const uint8_t*>(room.wire.data_ptr()),
                         rows, row_dims, ElementsOf(room.staged));
  } else if (is_cast) {
    CastElements(ElementsOf(room.wire), ElementsOf(room.staged), elements);
  }
  if (padded_rows > rows) {
    inputs_[input].narrow(0, rows, padded_rows - rows).zero_();
  }
}

absl::Status TorchModel::Forward(int32_t rows) {
  outputs_.clear();
  absl::Status status = network_->Forward(inputs_, outputs_);
  for (size_t i = 0; status.ok() && i < options_.spec.outputs.size(); ++i) {
    const auto& reshapes = options_.output_reshapes;
    if (!reshapes.empty() && reshapes[i].has_value()) {
      status = Reshape(i, rows, *reshapes[i]);
    }
    status.Update(CheckOutput(i, rows));
  }
  return status;
}

// From the shape that the model gives to that of the wire.
absl::Status TorchModel::Reshape(size_t output, int32_t rows,
                                 absl::Span<const int64_t> given) {
  at::Tensor& found = outputs_[output];
  const std::vector<int64_t> expected = Shape(has_rows_, rows, given);
  if (!Matches(expected, found.sizes())) {
    return WrongShape(output, expected, found);
  }
  const at::IntArrayRef dims =
      has_rows_ ? found.sizes().slice(1) : found.sizes();
  const std::vector<int64_t> wire = Resolve(given, {dims.data(), dims.size()},
                                            options_.spec.outputs[output].dims);
  found = found.reshape(Shape(has_rows_, rows, wire));
  return absl::OkStatus();
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
  const at::Tensor& found = outputs_[output];
  if (!Matches(expected, found.sizes())) {
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

void TorchModel::CopyOut(int32_t rows, OutputBuffer& buffer) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const DataType type = options_.spec.outputs[i].type;
    const at::Tensor& all = outputs_[i];
    // Rows that only filled the bucket come after those of the batch.
    const at::Tensor own =
        (has_rows_ && all.size(0) != rows ? all.narrow(0, 0, rows) : all)
            .contiguous();
    const at::IntArrayRef dims = has_rows_ ? own.sizes().slice(1) : own.sizes();
    HostOutputPool::Layout(buffer, i, rows, type, {dims.data(), dims.size()});
    CastElements(ElementsOf(own),
                 {buffer.mutable_tensors()[i].data, ToScalarType(type)},
                 own.numel());
  }
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
