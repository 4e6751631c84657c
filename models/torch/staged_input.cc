// Room, gathering, casting, padding.
#include "models/torch/staged_input.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "batcher/row_gather.h"
#include "models/torch/cast.h"
#include "models/torch/shapes.h"
#include "models/torch/texts.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// Bytes of a bool on the wire may be any: they are read as UINT8, and all but
// 0 become true.
at::ScalarType WireType(DataType type) {
  return type == DataType::kBool ? at::kByte : ToScalarType(type);
}

// Makes `room` hold at least that many elements.
void Reserve(at::Tensor& room, int64_t elements, at::ScalarType type) {
  if (!room.defined() || room.numel() < elements) {
    room = at::empty({elements}, type);
  }
}

}  // namespace

StagedInput::StagedInput(const ModelOptions& options, size_t index,
                         std::optional<at::ScalarType> type)
    : options_(options),
      index_(index),
      spec_(options.spec.inputs[index]),
      type_(type),
      has_variable_shape_(HasVariableShape(options.spec)) {
  if (!options.normalizations.empty() &&
      options.normalizations[index].has_value()) {
    normalizer_.emplace(*options.normalizations[index]);
  }
}

c10::IValue StagedInput::Stage(const Batch& batch, int32_t padded_rows) {
  if (!batch.is_given(index_)) {
    return {};
  }
  const absl::Span<const int64_t> row_dims = batch.row_dims(index_);
  if (spec_.type == DataType::kBytes) {
    return GatherTexts(batch, index_, padded_rows * RowElements(row_dims));
  }
  const at::Tensor placed = Place(padded_rows, row_dims);
  const int64_t elements = batch.rows() * RowElements(row_dims);
  at::Tensor& received = wire_.defined() ? wire_ : staged_;
  GatherRows(batch, index_, static_cast<std::byte*>(received.data_ptr()));
  const Elements staged = {staged_.data_ptr(), staged_.scalar_type()};
  if (normalizer_.has_value()) {
    normalizer_->Run(static_cast<const uint8_t*>(wire_.data_ptr()),
                     batch.rows(), row_dims, staged);
  } else if (wire_.defined()) {
    CastElements({wire_.data_ptr(), wire_.scalar_type()}, staged, elements);
  }
  if (padded_rows > batch.rows()) {
    placed.narrow(0, batch.rows(), padded_rows - batch.rows()).zero_();
  }
  return placed;
}

at::Tensor StagedInput::Place(int32_t rows,
                              absl::Span<const int64_t> row_dims) {
  const int64_t row_elements = RowElements(row_dims);
  const int64_t room =
      row_elements *
      (has_variable_shape_ ? rows : std::max(options_.spec.max_batch_size, 1));
  Reserve(staged_, room,
          normalizer_.has_value()
              ? ToScalarType(options_.precision)
              : type_.value_or(ComputeType(spec_.type, options_.precision)));
  if (staged_.scalar_type() != WireType(spec_.type)) {
    Reserve(wire_, room, WireType(spec_.type));
  }
  return staged_.narrow(0, 0, rows * row_elements)
      .view(Shape(options_.spec.max_batch_size > 0, rows, ModelRow(row_dims)));
}

std::vector<int64_t> StagedInput::ModelRow(
    absl::Span<const int64_t> row_dims) const {
  const ModelOptions::Reshapes& reshapes = options_.input_reshapes;
  if (!reshapes.empty() && reshapes[index_].has_value()) {
    return ResolveSizes(spec_.dims, row_dims, *reshapes[index_]);
  }
  return normalizer_.has_value()
             ? ModelDims(*options_.normalizations[index_], row_dims)
             : std::vector<int64_t>(row_dims.begin(), row_dims.end());
}

}  // namespace ferry
