// Implements PlanCapacity(): checks first, so that the arithmetic cannot fail.
#include "bench/plan/capacity.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

absl::Status Check(const CapacityInput& input) {
  absl::Status status = CheckPositive("lambda_max", input.lambda_max);
  status.Update(CheckPositive("peak rate", input.peak_rate));
  status.Update(CheckHeadroom(input.headroom));
  status.Update(CheckReplicas("spares", input.spares, 0));
  if (!status.ok()) {
    return status;
  }
  if (!(input.lost_share >= 0 && input.lost_share < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lost share: expected a share from 0 to below 1, got ",
                     input.lost_share));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Capacity> PlanCapacity(const CapacityInput& input) {
  if (absl::Status status = Check(input); !status.ok()) {
    return status;
  }
  Capacity capacity;
  capacity.lambda_safe = input.lambda_max * input.headroom;
  capacity.burst_ratio = 1 / input.headroom;
  const double once = CeilCount(input.peak_rate / capacity.lambda_safe);
  const double twice =
      CeilCount(CeilCount(input.peak_rate / input.lambda_max) / input.headroom);
  const double all = std::max(once + static_cast<double>(input.spares),
                              CeilCount(once / (1 - input.lost_share)));
  if (std::max(all, twice) > static_cast<double>(kMaxReplicas)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "peak rate: expected one that ", kMaxReplicas, " replicas carry, got ",
        input.peak_rate, "/s at ", capacity.lambda_safe, "/s a replica"));
  }
  capacity.peak_replicas = static_cast<int64_t>(once);
  capacity.peak_replicas_rounded_twice = static_cast<int64_t>(twice);
  capacity.replicas = static_cast<int64_t>(all);
  capacity.rate_after_loss = (all - 1) * input.lambda_max;
  capacity.headroom_covers_loss = input.headroom <= 1 - 1 / once + kRounding;
  capacity.replicas_cover_loss =
      capacity.rate_after_loss >= input.peak_rate * (1 - kRounding);
  return capacity;
}

absl::StatusOr<double> Utilization(double average_rate, int64_t replicas,
                                   double lambda_max) {
  absl::Status status = CheckPositive("average rate", average_rate);
  status.Update(CheckReplicas("replicas", replicas, 1));
  status.Update(CheckPositive("lambda_max", lambda_max));
  if (!status.ok()) {
    return status;
  }
  const double utilization =
      average_rate / (static_cast<double>(replicas) * lambda_max);
  if (utilization > 1 + kRounding) {
    return absl::InvalidArgumentError(
        absl::StrCat("average rate: expected at most the ",
                     static_cast<double>(replicas) * lambda_max, "/s that ",
                     replicas, " replicas carry, got ", average_rate, "/s"));
  }
  return std::min(utilization, 1.0);
}

}  // namespace ferry::plan
