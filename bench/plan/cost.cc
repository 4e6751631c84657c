// Implements the costs: each function checks its input, then is one formula.
#include "bench/plan/cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/plan/number_check.h"

namespace ferry::plan {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kHoursPerDay = 24;
constexpr double kMillion = 1e6;

absl::Status Check(const ReservedOffer& offer) {
  absl::Status status =
      CheckPositive("on demand per hour", offer.on_demand_per_hour);
  status.Update(CheckNotNegative("reserved per hour", offer.reserved_per_hour));
  status.Update(CheckNotNegative("upfront", offer.upfront));
  status.Update(CheckPositive("term hours", offer.term_hours));
  status.Update(CheckReplicas("instances", offer.instances, 1));
  if (status.ok() && !(offer.used_share > 0 && offer.used_share <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "used share: expected a share of the term above 0 and up to 1, got ",
        offer.used_share));
  }
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
  const auto instances = static_cast<double>(offer.instances);
  result.on_demand_total =
      offer.on_demand_per_hour * offer.term_hours * instances;
  result.reserved_total =
      (offer.upfront + offer.reserved_per_hour * offer.term_hours) * instances;
  const double used = result.on_demand_total * offer.used_share;
  result.saved = used - result.reserved_total;
  result.saved_share = result.saved / used;
  result.share_of_term = result.reserved_total / result.on_demand_total;
  return result;
}

absl::StatusOr<double> CostOfRun(double device_per_hour, int64_t devices,
                                 double hours) {
  absl::Status status = CheckPositive("device per hour", device_per_hour);
  status.Update(CheckReplicas("devices", devices, 1));
  status.Update(CheckPositive("hours", hours));
  if (!status.ok()) {
    return status;
  }
  return device_per_hour * static_cast<double>(devices) * hours;
}

absl::StatusOr<double> SpotPerHour(double device_per_hour,
                                   double redone_share) {
  if (absl::Status status = CheckPositive("device per hour", device_per_hour);
      !status.ok()) {
    return status;
  }
  if (!(redone_share >= 0 && redone_share < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("redone share: expected a share from 0 to below 1, got ",
                     redone_share));
  }
  return device_per_hour / (1 - redone_share);
}

absl::StatusOr<double> OffShare(double on_hours_per_week) {
  if (!(on_hours_per_week > 0 && on_hours_per_week <= kHoursPerWeek)) {
    return absl::InvalidArgumentError(
        absl::StrCat("hours on per week: expected more than 0 and at most ",
                     kHoursPerWeek, ", got ", on_hours_per_week));
  }
  return 1 - on_hours_per_week / kHoursPerWeek;
}

absl::StatusOr<OfflinePlan> PlanOffline(const OfflineWork& work) {
  absl::Status status = CheckPositive("items per day", work.items_per_day);
  status.Update(CheckReplicas("windows per day", work.windows_per_day, 1));
  status.Update(CheckPositive("window hours", work.window_hours));
  status.Update(CheckPositive("rate", work.rate));
  if (!status.ok()) {
    return status;
  }
  const auto windows = static_cast<double>(work.windows_per_day);
  if (windows * work.window_hours > kHoursPerDay) {
    return absl::InvalidArgumentError(absl::StrCat(
        "windows: expected ", kHoursPerDay, " hours a day at most, got ",
        work.windows_per_day, " of ", work.window_hours, " hours"));
  }
  OfflinePlan plan;
  plan.items_per_window = work.items_per_day / windows;
  const double of_device = work.window_hours * kSecondsPerHour * work.rate;
  const double devices = CeilCount(plan.items_per_window / of_device);
  if (devices > static_cast<double>(kMaxReplicas)) {
    return absl::InvalidArgumentError(
        absl::StrCat("items per day: expected what ", kMaxReplicas,
                     " devices do in their windows, got ", work.items_per_day));
  }
  plan.devices = static_cast<int64_t>(devices);
  plan.window_used = plan.items_per_window / (of_device * devices);
  plan.device_hours_per_day = devices * work.window_hours * windows;
  return plan;
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
