// Implements the costs: each function checks its input, then is one formula.
#include "bench/plan/cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;

absl::Status Check(const ReservedOffer& offer) {
  absl::Status status =
      CheckPositive("on demand per hour", offer.on_demand_per_hour);
  status.Update(CheckNotNegative("reserved per hour", offer.reserved_per_hour));
  status.Update(CheckNotNegative("upfront", offer.upfront));
  status.Update(CheckPositive("term hours", offer.term_hours));
  if (status.ok() && offer.reserved_per_hour == 0 && offer.upfront == 0) {
    return absl::InvalidArgumentError(
        "reserved per hour: expected a price there or upfront, got 0 for both");
  }
  return status;
}

}  // namespace

absl::StatusOr<int64_t> Instances(const Fleet& fleet) {
  absl::Status status = CheckReplicas("replicas", fleet.replicas, 1);
  status.Update(
      CheckReplicas("devices per instance", fleet.devices_per_instance, 1));
  if (!status.ok()) {
    return status;
  }
  return (fleet.replicas + fleet.devices_per_instance - 1) /
         fleet.devices_per_instance;
}

absl::StatusOr<FleetCost> CostOfFleet(const Fleet& fleet) {
  const auto instances = Instances(fleet);
  absl::Status status = CheckPositive("device per hour", fleet.device_per_hour);
  status.Update(instances.status());
  if (!status.ok()) {
    return status;
  }
  const double per_hour =
      fleet.device_per_hour *
      static_cast<double>(*instances * fleet.devices_per_instance);
  return FleetCost{.per_hour = per_hour, .per_year = per_hour * kHoursPerYear};
}

absl::StatusOr<double> CostPerMillion(double per_hour, double average_rate) {
  absl::Status status = CheckPositive("cost per hour", per_hour);
  status.Update(CheckPositive("average rate", average_rate));
  if (!status.ok()) {
    return status;
  }
  return per_hour / (kSecondsPerHour * average_rate) * kMillion;
}

absl::StatusOr<double> FloorPerMillion(double device_per_hour,
                                       double lambda_max) {
  absl::Status status = CheckPositive("device per hour", device_per_hour);
  status.Update(CheckPositive("lambda_max", lambda_max));
  if (!status.ok()) {
    return status;
  }
  return device_per_hour / (kSecondsPerHour * lambda_max) * kMillion;
}

absl::StatusOr<double> Waste(double floor_per_million,
                             double cost_per_million) {
  absl::Status status = CheckPositive("floor per million", floor_per_million);
  status.Update(CheckPositive("cost per million", cost_per_million));
  if (!status.ok()) {
    return status;
  }
  const double waste = 1 - floor_per_million / cost_per_million;
  if (waste < -kSmallestNumber) {
    return absl::InvalidArgumentError(
        absl::StrCat("cost per million: expected at least the floor of ",
                     floor_per_million, ", got ", cost_per_million));
  }
  return std::max(waste, 0.0);
}

absl::StatusOr<BreakEven> CompareReserved(const ReservedOffer& offer) {
  if (absl::Status status = Check(offer); !status.ok()) {
    return status;
  }
  BreakEven result;
  result.on_demand_total = offer.on_demand_per_hour * offer.term_hours;
  result.reserved_total =
      offer.upfront + offer.reserved_per_hour * offer.term_hours;
  result.saved = result.on_demand_total - result.reserved_total;
  result.saved_share = result.saved / result.on_demand_total;
  result.share_of_term = result.reserved_total / result.on_demand_total;
  return result;
}

absl::StatusOr<double> EnergyPerThousand(double joules, double requests) {
  absl::Status status = CheckPositive("joules", joules);
  status.Update(CheckPositive("requests", requests));
  if (!status.ok()) {
    return status;
  }
  return joules / requests * 1000;
}

absl::StatusOr<double> SavedShare(double before, double after) {
  absl::Status status = CheckPositive("before", before);
  status.Update(CheckPositive("after", after));
  if (!status.ok()) {
    return status;
  }
  return 1 - after / before;
}

}  // namespace ferry::plan
