// CostOfFleet() and its like say what replicas cost: an hour, a year, a million
// requests; on demand against reserved; and energy. Money is in the currency of
// the given price. The formulas with their sources: bench/plan/formulas.h.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found; a
// number that is returned is finite.
#ifndef FERRY_BENCH_PLAN_COST_H_
#define FERRY_BENCH_PLAN_COST_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace ferry::plan {

inline constexpr double kHoursPerYear = 8760;  // 365 days

struct FleetCost {
  double per_hour = 0;
  double per_year = 0;
};

// Replicas that have a device each and always run, and what they run on.
struct Fleet {
  double device_per_hour = 0;
  int64_t replicas = 0;
  int64_t devices_per_instance = 1;  // instances are paid for whole
};

// Returns kInstances.
absl::StatusOr<int64_t> Instances(const Fleet& fleet);

// Returns kCostPerHour and kCostPerYear.
absl::StatusOr<FleetCost> CostOfFleet(const Fleet& fleet);

// Returns kCostPerMillion: money for a million requests, where all replicas
// together cost `per_hour` and serve `average_rate` requests/s.
absl::StatusOr<double> CostPerMillion(double per_hour, double average_rate);

// Returns kFloorPerMillion: money for a million requests of one device that
// serves `lambda_max` requests/s all the time.
absl::StatusOr<double> FloorPerMillion(double device_per_hour,
                                       double lambda_max);

// Returns kWaste, [0, 1): the share of the money that buys no request. A cost
// below its floor is refused.
absl::StatusOr<double> Waste(double floor_per_million, double cost_per_million);

// One instance, or device, for one term.
struct ReservedOffer {
  double on_demand_per_hour = 0;
  double reserved_per_hour = 0;  // may be 0 where all is paid upfront
  double upfront = 0;
  double term_hours = 0;
};

struct BreakEven {
  double on_demand_total = 0;  // used for the whole term
  double reserved_total = 0;
  double saved = 0;  // negative: reserved costs more
  double saved_share = 0;
  // kBreakEvenShare. Above 1, reserved is never cheaper.
  double share_of_term = 0;
};

absl::StatusOr<BreakEven> CompareReserved(const ReservedOffer& offer);

// Returns kEnergyPerThousand: joules for a thousand requests, where `requests`
// took `joules`. Both may be of one second: watts, and requests/s.
absl::StatusOr<double> EnergyPerThousand(double joules, double requests);

// Returns 1 - after / before: what share a change saves; negative where it
// costs more. Any unit will do, the same in both.
absl::StatusOr<double> SavedShare(double before, double after);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_COST_H_
