// Implements PlanMemory().
#include "bench/plan/memory.h"

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {

absl::StatusOr<double> WeightBytes(double parameters,
                                   double bytes_per_parameter) {
  absl::Status status = CheckPositive("parameters", parameters);
  status.Update(CheckPositive("bytes per parameter", bytes_per_parameter));
  if (!status.ok()) {
    return status;
  }
  return parameters * bytes_per_parameter;
}

absl::StatusOr<MemoryNeed> PlanMemory(const MemoryInput& input) {
  // A model of a trillion parameters has more bytes than kLargestNumber.
  constexpr double kMostBytes = 1e16;
  if (!(input.weight_bytes > 0 && input.weight_bytes <= kMostBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights: expected bytes above 0 and up to ", kMostBytes,
                     ", got ", input.weight_bytes));
  }
  absl::Status status = CheckNotNegative("activation bytes per row",
                                         input.activation_bytes_per_row);
  status.Update(CheckReplicas("rows", input.rows, 1));
  if (!status.ok()) {
    return status;
  }
  MemoryNeed need;
  need.activation_bytes =
      input.activation_bytes_per_row * static_cast<double>(input.rows);
  need.total_bytes = input.weight_bytes + need.activation_bytes;
  return need;
}

}  // namespace ferry::plan
