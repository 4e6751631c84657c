// Implements PlanRoofline().
#include "bench/plan/roofline.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

// Operations and bytes of large models and devices are above kLargestNumber.
constexpr double kMost = 1e18;

absl::Status CheckAmount(const std::string& name, double value, double least) {
  if (value >= least && value <= kMost) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected ", least, " to ", kMost, ", got ", value));
}

}  // namespace

absl::StatusOr<Roofline> PlanRoofline(const RooflineInput& input) {
  absl::Status status =
      CheckAmount("operations of a row", input.flops_per_row, 1);
  status.Update(CheckAmount("bytes of a row", input.bytes_per_row, 0));
  status.Update(CheckAmount("bytes of the weights", input.weight_bytes, 0));
  status.Update(CheckReplicas("rows", input.rows, 1));
  status.Update(
      CheckAmount("the device's operations a second", input.peak_flops, 1));
  status.Update(
      CheckAmount("its memory's bytes a second", input.peak_bytes, 1));
  const auto rows = static_cast<double>(input.rows);
  const double bytes = input.weight_bytes + input.bytes_per_row * rows;
  status.Update(CheckAmount("bytes of a row and the weights", bytes, 1));
  if (!status.ok()) {
    return status;
  }
  const double flops = input.flops_per_row * rows;
  Roofline roofline;
  roofline.intensity = flops / bytes;
  roofline.ridge = input.peak_flops / input.peak_bytes;
  roofline.compute_s = flops / input.peak_flops;
  roofline.memory_s = bytes / input.peak_bytes;
  roofline.rows_s = rows / std::max(roofline.compute_s, roofline.memory_s);
  // What a row adds to the time of arithmetic above what it adds to memory's.
  const double gained =
      input.flops_per_row - roofline.ridge * input.bytes_per_row;
  if (gained > 0) {
    roofline.ridge_rows =
        std::max(1.0, CeilCount(roofline.ridge * input.weight_bytes / gained));
  }
  return roofline;
}

}  // namespace ferry::plan
