// Implements StagedInput: reserves memory, gathers, casts and pads.
#include "models/torch/staged_input.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "batcher/row_gather.h"
#include "models/torch/cast.h"
#include "models/torch/shapes.h"
#include "models/torch/strings.h"
#include "models/torch/types.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

// What is cast at a time: a piece of the rows that stays in the nearest cache.
constexpr int64_t kPieceElements = 4096;

// Makes `room` hold at least that many elements.
void Reserve(at::Tensor& room, int64_t elements, at::ScalarType type) {
  if (!room.defined() || room.numel() < elements) {
    room = at::empty({elements}, type);
  }
}

}  // namespace

at::ScalarType WireType(DataType type) {
  return type == DataType::kBool ? at::kByte : ToScalarType(type);
}

at::ScalarType StagedType(const ModelOptions& options, size_t input,
                          std::optional<at::ScalarType> type) {
  return !options.normalizations.empty() &&
                 options.normalizations[input].has_value()
             ? ToScalarType(options.precision)
             : type.value_or(ComputeType(options.spec.inputs[input].type,
                                         options.precision));
}

std::vector<int64_t> ModelRow(const ModelOptions& options, size_t input,
                              absl::Span<const int64_t> row_dims) {
  const ModelOptions::Reshapes& reshapes = options.input_reshapes;
  if (!reshapes.empty() && reshapes[input].has_value()) {
    return ResolveSizes(options.spec.inputs[input].dims, row_dims,
                        *reshapes[input]);
  }
  return !options.normalizations.empty() &&
                 options.normalizations[input].has_value()
             ? ModelDims(*options.normalizations[input], row_dims)
             : std::vector<int64_t>(row_dims.begin(), row_dims.end());
}

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
    return GatherStrings(batch, index_, padded_rows * RowElements(row_dims));
  }
  const at::Tensor placed = Place(padded_rows, row_dims);
  const Elements staged = {staged_.data_ptr(), staged_.scalar_type()};
  if (normalizer_.has_value()) {
    GatherRows(batch, index_, static_cast<std::byte*>(wire_.data_ptr()));
    normalizer_->Run(static_cast<const uint8_t*>(wire_.data_ptr()),
                     batch.rows(), row_dims, staged);
  } else if (!spec_.pads.empty() && IsPadded(batch, index_)) {
    GatherPadded(batch);
  } else if (wire_.defined()) {
    GatherCast(batch);
  } else {
    GatherRows(batch, index_, static_cast<std::byte*>(staged.data));
  }
  if (padded_rows > batch.rows()) {
    placed.narrow(0, batch.rows(), padded_rows - batch.rows()).zero_();
  }
  return placed;
}

void StagedInput::GatherCast(const Batch& batch) {
  const at::ScalarType from = wire_.scalar_type();
  const at::ScalarType to = staged_.scalar_type();
  auto* const room = static_cast<std::byte*>(wire_.data_ptr());
  auto* next = static_cast<std::byte*>(staged_.data_ptr());
  GatherPieces(
      batch, index_,
      {room, std::min(wire_.nbytes(), static_cast<size_t>(kPieceElements) *
                                          c10::elementSize(from))},
      [&](absl::Span<const std::byte> piece) {
        const size_t count = piece.size() / c10::elementSize(from);
        CastElements({room, from}, {next, to}, static_cast<int64_t>(count));
        next += count * c10::elementSize(to);
      });
}

void StagedInput::GatherPadded(const Batch& batch) {
  const Elements staged = {staged_.data_ptr(), staged_.scalar_type()};
  const Elements wire = wire_.defined()
                            ? Elements{wire_.data_ptr(), wire_.scalar_type()}
                            : staged;
  GatherPaddedRows(batch, index_, spec_.type, *VaryingDim(spec_.dims),
                   static_cast<std::byte*>(wire.data));
  if (wire_.defined()) {
    CastElements(wire, staged,
                 batch.rows() * RowElements(batch.row_dims(index_)));
  }
}

at::Tensor StagedInput::Place(int32_t rows,
                              absl::Span<const int64_t> row_dims) {
  const int64_t row_elements = RowElements(row_dims);
  const int64_t room =
      row_elements *
      (has_variable_shape_ ? rows : std::max(options_.spec.max_batch_size, 1));
  Reserve(staged_, room, StagedType(options_, index_, type_));
  if (staged_.scalar_type() != WireType(spec_.type)) {
    const bool holds_all = normalizer_.has_value() || !spec_.pads.empty();
    Reserve(wire_, holds_all ? room : kPieceElements, WireType(spec_.type));
  }
  return staged_.narrow(0, 0, rows * row_elements)
      .view(Shape(options_.spec.max_batch_size > 0, rows,
                  ModelRow(options_, index_, row_dims)));
}

}  // namespace ferry
