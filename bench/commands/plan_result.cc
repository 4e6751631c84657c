// Implements MakePlan(): one step for each thing that is given: a peak, an
// average rate, a price, power.
#include "bench/commands/plan_result.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/plan/capacity.h"
#include "bench/plan/cost.h"
#include "bench/plan/number_check.h"

namespace ferry::bench {
namespace {

void Add(const plan::Formula& formula, double value, Plan& plan) {
  plan.numbers.push_back({formula, value});
}

// Says whether the peak is served when one replica is lost, and by what.
std::string LossNote(const plan::Capacity& capacity,
                     const PlanRequest& request) {
  const std::string rule =
      absl::StrFormat("N+1: headroom %g is %s 1 - 1/%d", request.headroom,
                      capacity.headroom_covers_loss ? "at most" : "above",
                      capacity.peak_replicas);
  if (capacity.headroom_covers_loss) {
    return absl::StrCat(rule, ": it covers the loss of one replica by itself");
  }
  if (capacity.replicas_cover_loss) {
    return absl::StrCat(rule, ": it does not cover the loss of one replica; ",
                        capacity.replicas, " replicas do");
  }
  return absl::StrFormat(
      "%s: after the loss of one replica %.1f requests/s of the peak's %.1f "
      "are served within the SLO; add spares",
      rule, capacity.rate_after_loss, *request.peak_rate);
}

absl::Status AddCapacity(const PlanRequest& request, Plan& plan) {
  // Without a peak only what one replica carries is of interest.
  const double lambda_max = plan.limit.lambda_max();
  const auto capacity =
      plan::PlanCapacity({.lambda_max = lambda_max,
                          .peak_rate = request.peak_rate.value_or(lambda_max),
                          .headroom = request.headroom,
                          .spares = request.spares,
                          .lost_share = request.lost_share});
  if (!capacity.ok()) {
    return capacity.status();
  }
  Add(plan::kLambdaMax, lambda_max, plan);
  Add(plan::kLambdaSafe, capacity->lambda_safe, plan);
  Add(plan::kBurstRatio, capacity->burst_ratio, plan);
  if (!request.peak_rate.has_value()) {
    return absl::OkStatus();
  }
  const auto count = [](int64_t value) { return static_cast<double>(value); };
  Add(plan::kPeakReplicas, count(capacity->peak_replicas), plan);
  Add(plan::kRoundedTwice, count(capacity->peak_replicas_rounded_twice), plan);
  Add(plan::kReplicas, count(capacity->replicas), plan);
  Add(plan::kRateAfterLoss, capacity->rate_after_loss, plan);
  plan.notes.push_back(absl::StrFormat(
      "peak_replicas is %d, rounded once, which is used; rounded twice it "
      "would be %d",
      capacity->peak_replicas, capacity->peak_replicas_rounded_twice));
  plan.notes.push_back(LossNote(*capacity, request));
  return absl::OkStatus();
}

int64_t Replicas(const Plan& plan) {
  return static_cast<int64_t>(plan.Find(plan::kReplicas).value_or(0));
}

absl::Status AddUtilization(const PlanRequest& request, Plan& plan) {
  if (!request.peak_rate.has_value()) {
    return absl::InvalidArgumentError(
        "average rate: expected a peak rate beside it, got none");
  }
  if (*request.average_rate > *request.peak_rate) {
    return absl::InvalidArgumentError(
        absl::StrCat("average rate: expected at most the peak rate of ",
                     *request.peak_rate, "/s, got ", *request.average_rate));
  }
  const auto utilization = plan::Utilization(
      *request.average_rate, Replicas(plan), plan.limit.lambda_max());
  if (!utilization.ok()) {
    return utilization.status();
  }
  Add(plan::kUtilization, *utilization, plan);
  return absl::OkStatus();
}

absl::Status AddEnergy(const PlanRequest& request, Plan& plan) {
  if (!request.average_rate.has_value()) {
    return absl::InvalidArgumentError(
        "power: expected an average rate beside it, got none");
  }
  if (absl::Status status = plan::CheckPositive("power", *request.power_w);
      !status.ok()) {
    return status;
  }
  const auto energy = plan::EnergyPerThousand(
      *request.power_w * static_cast<double>(Replicas(plan)),
      *request.average_rate);
  if (!energy.ok()) {
    return energy.status();
  }
  Add(plan::kEnergyPerThousand, *energy, plan);
  return absl::OkStatus();
}

// By the energy counter of the device, at the point that lambda_max is of.
absl::Status AddMeasuredEnergy(Plan& plan) {
  const PointResult& point = plan.limit.point;
  const auto energy = plan::EnergyPerThousand(
      *point.device->energy_j, point.achieved_rate * point.window_s);
  if (!energy.ok()) {
    return energy.status();
  }
  Add(plan::kEnergyPerThousand, *energy, plan);
  plan.notes.push_back(
      "energy_per_thousand is what the whole GPU took at lambda_max, where a "
      "request takes least; --power-w plans with the average rate");
  return absl::OkStatus();
}

// Whether the point's device counted its energy.
bool HasEnergy(const PointResult& point) {
  return point.device.has_value() && point.device->energy_j.value_or(0) > 0 &&
         point.window_s > 0;
}

absl::Status AddCostPerMillion(double per_hour, double floor_per_million,
                               double average_rate, Plan& plan) {
  const auto per_million = plan::CostPerMillion(per_hour, average_rate);
  if (!per_million.ok()) {
    return per_million.status();
  }
  const auto waste = plan::Waste(floor_per_million, *per_million);
  if (!waste.ok()) {
    return waste.status();
  }
  Add(plan::kCostPerMillion, *per_million, plan);
  Add(plan::kWaste, *waste, plan);
  return absl::OkStatus();
}

// Returns what all replicas cost an hour.
absl::StatusOr<double> AddFleet(const PlanPrice& price, Plan& plan) {
  const int64_t devices = price.row.devices_per_instance;
  const plan::Fleet fleet = {.device_per_hour = plan::DevicePerHour(price.row),
                             .replicas = Replicas(plan),
                             .devices_per_instance = devices};
  const auto instances = plan::Instances(fleet);
  const auto cost = plan::CostOfFleet(fleet);
  if (!instances.ok() || !cost.ok()) {
    return instances.ok() ? cost.status() : instances.status();
  }
  if (devices > 1) {
    Add(plan::kInstances, static_cast<double>(*instances), plan);
  }
  Add(plan::kCostPerHour, cost->per_hour, plan);
  Add(plan::kCostPerYear, cost->per_year, plan);
  if (const int64_t idle = *instances * devices - fleet.replicas; idle > 0) {
    plan.notes.push_back(absl::StrFormat(
        "instances have %d devices and are paid for whole: %d of %d are idle",
        devices, idle, *instances * devices));
  }
  const int64_t lost = std::min(devices, fleet.replicas);
  if (lost > 1 && lost == fleet.replicas) {
    plan.notes.push_back(absl::StrFormat(
        "one instance holds all %d replicas: without it nothing is served",
        lost));
  } else if (lost > 1) {
    plan.notes.push_back(absl::StrFormat(
        "an instance that is lost takes up to %d of %d replicas: --lost-share "
        "%.2g plans for that",
        lost, fleet.replicas,
        static_cast<double>(lost) / static_cast<double>(fleet.replicas)));
  }
  return cost->per_hour;
}

absl::Status AddBreakEven(const PlanPrice& price, Plan& plan) {
  const auto devices = static_cast<double>(price.row.devices_per_instance);
  const auto result = plan::CompareReserved(
      {.on_demand_per_hour = plan::DevicePerHour(*price.on_demand),
       .reserved_per_hour = plan::InstancePerHour(price.row) / devices,
       .upfront = plan::InstanceUpfront(price.row) / devices,
       .term_hours = price.row.term_hours});
  if (!result.ok()) {
    return result.status();
  }
  Add(plan::kBreakEvenShare, result->share_of_term, plan);
  plan.notes.push_back(absl::StrFormat(
      "reserved saves %.1f %% of on demand if used for the whole term",
      result->saved_share * 100));
  return absl::OkStatus();
}

absl::Status AddCost(const PlanRequest& request, const PlanPrice& price,
                     Plan& plan) {
  const double device_per_hour = plan::DevicePerHour(price.row);
  const auto floor_per_million =
      plan::FloorPerMillion(device_per_hour, plan.limit.lambda_max());
  if (!floor_per_million.ok()) {
    return floor_per_million.status();
  }
  Add(plan::kDevicePerHour, device_per_hour, plan);
  Add(plan::kFloorPerMillion, *floor_per_million, plan);
  absl::Status status;
  if (request.peak_rate.has_value()) {
    const auto per_hour = AddFleet(price, plan);
    if (!per_hour.ok()) {
      return per_hour.status();
    }
    if (request.average_rate.has_value()) {
      status.Update(AddCostPerMillion(*per_hour, *floor_per_million,
                                      *request.average_rate, plan));
    }
  }
  if (price.on_demand.has_value()) {
    status.Update(AddBreakEven(price, plan));
  }
  if (price.row.kind == plan::PriceKind::kSpot) {
    plan.notes.push_back(
        "spot devices are taken away at short notice: plan with a lost share");
  }
  return status;
}

}  // namespace

std::optional<double> Plan::Find(const plan::Formula& formula) const {
  const auto found = std::find_if(
      numbers.begin(), numbers.end(), [&](const plan::Number& number) {
        return std::string_view(number.formula.name) == formula.name;
      });
  return found == numbers.end() ? std::nullopt : std::optional(found->value);
}

absl::StatusOr<Plan> MakePlan(const SloPoint& limit, const PlanRequest& request,
                              const std::optional<PlanPrice>& price) {
  Plan plan;
  plan.limit = limit;
  plan.notes = limit.notes;
  absl::Status status = AddCapacity(request, plan);
  if (status.ok() && request.average_rate.has_value()) {
    status = AddUtilization(request, plan);
  }
  if (status.ok() && price.has_value()) {
    status = AddCost(request, *price, plan);
  }
  if (status.ok() && request.power_w.has_value()) {
    status = AddEnergy(request, plan);
  } else if (status.ok() && HasEnergy(limit.point)) {
    status = AddMeasuredEnergy(plan);
  }
  if (!status.ok()) {
    return status;
  }
  return plan;
}

std::optional<double> SavedShare(const PlanReport& report) {
  if (!report.before.has_value() || !report.request.peak_rate.has_value()) {
    return std::nullopt;
  }
  const plan::Formula& of =
      report.price.has_value() ? plan::kCostPerHour : plan::kReplicas;
  const auto share = plan::SavedShare(report.before->Find(of).value_or(0),
                                      report.plan.Find(of).value_or(0));
  return share.ok() ? std::optional(*share) : std::nullopt;
}

absl::Status CheckComparable(const Plan& before, const Plan& after) {
  if (before.limit.rows_per_request != after.limit.rows_per_request) {
    return absl::InvalidArgumentError(absl::StrCat(
        "before: expected requests of ", after.limit.rows_per_request,
        " rows, got ", before.limit.rows_per_request));
  }
  return absl::OkStatus();
}

}  // namespace ferry::bench
