// Implements CheckPositive() and its like. NaN fails every comparison, so each
// check asks for what is right.
#include "bench/plan/number_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace ferry::plan {

absl::Status CheckPositive(const std::string& name, double value) {
  if (value >= kSmallestNumber && value <= kLargestNumber) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected a number above 0, from ", kSmallestNumber,
                   " to ", kLargestNumber, ", got ", value));
}

absl::Status CheckNotNegative(const std::string& name, double value) {
  return value == 0 ? absl::OkStatus() : CheckPositive(name, value);
}

absl::Status CheckHeadroom(double headroom) {
  absl::Status status = CheckPositive("headroom", headroom);
  if (status.ok() && headroom > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "headroom: expected a share of lambda_max above 0 and up to 1, got ",
        headroom));
  }
  return status;
}

absl::Status CheckReplicas(const std::string& name, int64_t value,
                           int64_t least) {
  if (value >= least && value <= kMaxReplicas) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": expected from ", least, " to ", kMaxReplicas, ", got ", value));
}

double CeilCount(double count) { return std::ceil(count * (1 - kRounding)); }

}  // namespace ferry::plan
