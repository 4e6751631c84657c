// Implements CompareLayouts: makes synthetic rows, and bounds differences.
#include "models/torch/script/layout_probe.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "models/synthetic_row.h"
#include "models/torch/shapes.h"
#include "models/torch/staged_input.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

// Sizes of a dimension that varies, for a probe: those that most networks of
// images take, the cheap ones first.
constexpr int64_t kProbeSizes[] = {64, 224, 32};

// Bounds |difference| / |output| of both layouts in 16 bits, lengths of
// vectors: kernels round and sum up in other orders, bf16 has 8 bits of digits.
constexpr double kTolerance = 0.05;

// From 0 to 0.98, so that even as indexes of something they are inside: on a
// device an index out of range is its end.
at::Tensor Synthetic(const std::vector<int64_t>& shape, at::ScalarType type,
                     at::Device device) {
  if (!at::isFloatingType(type)) {
    return at::zeros(shape, at::TensorOptions(device).dtype(type));
  }
  const at::Tensor empty = at::empty(shape, at::kFloat);
  return at::arange(empty.numel(), at::kFloat)
      .sin()
      .mul(0.49)
      .add(0.49)
      .view(shape)
      .to(type)
      .to(device);
}

// A row's sizes of a mask, which a batch has where its requests leave it out.
std::vector<int64_t> MaskDims(const ModelSpec& spec,
                              const std::vector<RowInput>& row, size_t mask) {
  const size_t followed = *spec.inputs[mask].follows;
  const size_t varying = *VaryingDim(spec.inputs[followed].dims);
  std::vector<int64_t> dims = spec.inputs[mask].dims;
  std::replace(dims.begin(), dims.end(), kAnySize, row[followed].dims[varying]);
  return dims;
}

Values ProbeInputs(const Network& network, const ModelOptions& options,
                   const std::vector<RowInput>& row, int32_t rows,
                   at::Device device) {
  const bool is_batched = options.spec.max_batch_size > 0;
  Values inputs;
  for (size_t i = 0; i < row.size(); ++i) {
    const at::ScalarType type = StagedType(options, i, network.input_type(i));
    inputs.emplace_back();
    if (options.spec.inputs[i].is_mask) {
      inputs.back() =
          at::ones(Shape(is_batched, rows,
                         ModelRow(options, i, MaskDims(options.spec, row, i))),
                   at::TensorOptions(device).dtype(type));
    } else if (row[i].is_given) {
      inputs.back() =
          Synthetic(Shape(is_batched, rows, ModelRow(options, i, row[i].dims)),
                    type, device);
    }
  }
  return inputs;
}

// Returns how the outputs differ, or nothing. Only the shape of integers
// counts: the largest of two values that are almost alike may be either.
std::string Difference(const at::Tensor& expected, const at::Tensor& found) {
  if (found.sizes() != expected.sizes() ||
      found.scalar_type() != expected.scalar_type()) {
    return "gives an output of another shape or type";
  }
  if (!expected.is_floating_point() || expected.numel() == 0) {
    return "";
  }
  const at::Tensor wide = expected.to(at::kFloat);
  const at::Tensor other = found.to(at::kFloat);
  // Infinities that are the same are no difference.
  const at::Tensor difference =
      at::where(wide.eq(other), at::zeros_like(wide), wide - other);
  const double off = difference.norm().item<double>();
  const double length = at::nan_to_num(wide, 0, 0, 0).norm().item<double>();
  return off <= kTolerance * length  // false of NaN
             ? ""
             : absl::StrCat("gives other values, off by ", off, " of ", length);
}

// Runs both with the same rows. An error where the plain one does not run.
absl::StatusOr<std::string> CompareRows(
    Network& plain, Network& laid_out,
    absl::FunctionRef<Values()> make_inputs) {
  Values inputs;
  Values expected;
  if (absl::Status status = Guarded([&] {
        inputs = make_inputs();
        return plain.Forward(inputs, expected);
      });
      !status.ok()) {
    return status;
  }
  Values found;
  std::string difference;
  const absl::Status status = Guarded([&] {
    // Anew: a forward may write to what it is given.
    const absl::Status ran = laid_out.Forward(make_inputs(), found);
    for (size_t i = 0; ran.ok() && difference.empty() && i < expected.size();
         ++i) {
      if (i >= found.size() || expected[i].isTensor() != found[i].isTensor()) {
        difference = "gives other outputs";
      } else if (expected[i].isTensor()) {
        difference = Difference(expected[i].toTensor(), found[i].toTensor());
      }
    }
    return ran;
  });
  return status.ok() ? difference : absl::StrCat("fails, ", status.message());
}

}  // namespace

std::string CompareLayouts(Network& plain, Network& laid_out,
                           const ModelOptions& options, at::Device device) {
  at::set_num_threads(options.threads);  // of operators on the processor
  std::vector<int64_t> sizes = {1};
  absl::Status cannot_see;
  if (HasVariableShape(options.spec)) {
    cannot_see = absl::OutOfRangeError("its inputs are too large");
    sizes.clear();
    std::copy_if(std::begin(kProbeSizes), std::end(kProbeSizes),
                 std::back_inserter(sizes), [&](int64_t size) {
                   return IsCheap(options.spec, size, /*rows=*/1);
                 });
  }
  for (const int64_t size : sizes) {
    const std::vector<RowInput> row = ZeroRow(options.spec, size);
    absl::StatusOr<std::string> difference = "";
    // Two rows have the strides of any number more, one row does not.
    const int32_t most_rows = std::clamp(options.spec.max_batch_size, 1, 2);
    for (int32_t rows = 1; rows <= most_rows; ++rows) {
      if (difference.ok() && difference->empty()) {
        difference = CompareRows(plain, laid_out, [&] {
          return ProbeInputs(plain, options, row, rows, device);
        });
      }
    }
    if (difference.ok()) {
      return difference->empty()
                 ? ""
                 : absl::StrCat("a probe forward with it ", *difference);
    }
    cannot_see = difference.status();
  }
  return absl::StrCat("a probe forward fails, with it or without: ",
                      cannot_see.message());
}

}  // namespace ferry
