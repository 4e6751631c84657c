// Implements OutputFit: checks kinds, shapes and types.
#include "models/torch/output_fit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/shapes.h"
#include "models/torch/strings.h"
#include "models/torch/types.h"
#include "tensor/padding.h"

namespace ferry {

OutputFit::OutputFit(const ModelOptions& options)
    : options_(options),
      has_rows_(options.spec.max_batch_size > 0),
      string_dims_(options.spec.outputs.size()) {}

absl::Status OutputFit::Fit(const Values& inputs, int32_t rows,
                            Values& outputs) {
  if (outputs.size() != options_.spec.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("outputs: the config has ", options_.spec.outputs.size(),
                     ", the model gives ", outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (absl::Status status = FitOne(inputs, rows, i, outputs[i]);
        !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status OutputFit::FitOne(const Values& inputs, int32_t rows,
                               size_t output, c10::IValue& value) {
  const TensorSpec& spec = options_.spec.outputs[output];
  if (spec.type == DataType::kBytes) {
    return IsStrings(value)
               ? FindRowDims(spec, rows, std::ssize(value.toListRef()),
                             string_dims_[output])
               : WrongKind(output, "a list of strings", value);
  }
  if (!value.isTensor()) {
    return WrongKind(output, "a tensor", value);
  }
  absl::Status status;
  const auto& reshapes = options_.output_reshapes;
  if (!reshapes.empty() && reshapes[output].has_value()) {
    status = Reshape(output, rows, *reshapes[output], value);
  }
  status.Update(CheckTensor(inputs, rows, output, value.toTensor()));
  return status;
}

// From the shape that the model gives to that of the wire.
absl::Status OutputFit::Reshape(size_t output, int32_t rows,
                                absl::Span<const int64_t> given,
                                c10::IValue& value) const {
  const at::Tensor& found = value.toTensor();
  const std::vector<int64_t> expected = Shape(has_rows_, rows, given);
  if (!MatchesSizes(expected, SpanOf(found.sizes()))) {
    return WrongShape(output, expected, found);
  }
  const at::IntArrayRef dims =
      has_rows_ ? found.sizes().slice(1) : found.sizes();
  const std::vector<int64_t> wire =
      ResolveSizes(given, SpanOf(dims), options_.spec.outputs[output].dims);
  value = found.reshape(Shape(has_rows_, rows, wire));
  return absl::OkStatus();
}

absl::Status OutputFit::CheckTensor(const Values& inputs, int32_t rows,
                                    size_t output,
                                    const at::Tensor& found) const {
  const TensorSpec& spec = options_.spec.outputs[output];
  const std::vector<int64_t> expected =
      Shape(has_rows_, rows, ExpectedRow(inputs, output));
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

absl::Status OutputFit::WrongKind(size_t output, const char* expected,
                                  const c10::IValue& found) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "output '", options_.spec.outputs[output].name, "': expected ", expected,
      ", the model gives ", found.tagKind()));
}

absl::Status OutputFit::WrongShape(size_t output,
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

std::vector<int64_t> OutputFit::ExpectedRow(const Values& inputs,
                                            size_t output) const {
  const TensorSpec& spec = options_.spec.outputs[output];
  std::vector<int64_t> dims = spec.dims;
  if (spec.follows.has_value()) {
    const size_t varying =
        *VaryingDim(options_.spec.inputs[*spec.follows].dims);
    dims[*VaryingDim(dims)] = inputs[*spec.follows].toTensor().size(
        static_cast<int64_t>(varying) + (has_rows_ ? 1 : 0));
  }
  return dims;
}

}  // namespace ferry
