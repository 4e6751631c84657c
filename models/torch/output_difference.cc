// Implements OutputDifference: compares element by element.
#include "models/torch/output_difference.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

void OutputDifference::Add(const c10::IValue& expected,
                           const c10::IValue& found, size_t kind) {
  if (expected.isTensor() && found.isTensor()) {
    Add(expected.toTensor(), found.toTensor(), floats_[kind]);
  } else if (expected.isList() && found.isList() &&
             expected.toListRef().size() == found.toListRef().size()) {
    for (size_t i = 0; i < expected.toListRef().size(); ++i) {
      count_ += 1;
      differing_ += expected.toListRef()[i].toStringRef() ==
                            found.toListRef()[i].toStringRef()
                        ? 0
                        : 1;
    }
  } else {
    floats_[kind].off = kInfinite;
  }
}

double OutputDifference::share(int64_t least_count) const {
  double share = static_cast<double>(differing_) /
                 static_cast<double>(std::max(count_, least_count));
  for (const Floats& floats : floats_) {
    share =
        std::max(share, floats.off / (floats.largest > 0 ? floats.largest : 1));
  }
  return share;
}

void OutputDifference::Add(const at::Tensor& expected, const at::Tensor& found,
                           Floats& floats) {
  const bool is_float = expected.is_floating_point();
  if (expected.sizes() != found.sizes() ||
      is_float != found.is_floating_point()) {
    floats.off = kInfinite;
  } else if (!is_float) {
    count_ += expected.numel();
    differing_ += expected.ne(found).sum().item<int64_t>();
  } else if (expected.numel() > 0) {
    const auto type =
        expected.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor wide = expected.to(type);
    const at::Tensor other = found.to(type);
    const at::Tensor are_alike =
        wide.eq(other).logical_or(wide.isnan().logical_and(other.isnan()));
    const double off =
        at::where(are_alike, 0.0, (wide - other).abs()).max().item<double>();
    floats.off = std::max(floats.off, std::isnan(off) ? kInfinite : off);
    floats.largest =
        std::max(floats.largest,
                 at::nan_to_num(wide, 0, 0, 0).abs().max().item<double>());
  }
}

}  // namespace ferry
