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
inline constexpr double kHoursPerMonth = 720;  // 30 days
inline constexpr double kHoursPerWeek = 168;

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

// Prices of one instance, or device, for one term.
struct ReservedOffer {
  double on_demand_per_hour = 0;
  double reserved_per_hour = 0;  // may be 0 where all is paid upfront
  double upfront = 0;
  double term_hours = 0;
  double used_share = 1;  // of the term, (0, 1]
  int64_t instances = 1;
};

struct BreakEven {
  double on_demand_total = 0;  // kOnDemandTotal
  double reserved_total = 0;   // kReservedTotal
  double saved = 0;            // kSaved
  double saved_share = 0;      // kSavedShare
  // kBreakEvenShare. Above 1, reserved is never cheaper.
  double share_of_term = 0;
};

absl::StatusOr<BreakEven> CompareReserved(const ReservedOffer& offer);

// Returns money for that many devices for that many hours.
absl::StatusOr<double> CostOfRun(double device_per_hour, int64_t devices,
                                 double hours);

// Returns kSpotPerHour: money for an hour of work that counts, where
// `redone_share` of the work, [0, 1), is lost by interruptions and done again.
absl::StatusOr<double> SpotPerHour(double device_per_hour, double redone_share);

// Returns kOffShare, [0, 1), of devices that are on for that many hours of the
// week, (0, 168].
absl::StatusOr<double> OffShare(double on_hours_per_week);

// Work that waits for its window, as images that are due the next morning.
struct OfflineWork {
  double items_per_day = 0;
  int64_t windows_per_day = 1;
  double window_hours = 0;  // of each window; all of them fit into a day
  double rate = 0;          // items/s of one device, as measured
};

struct OfflinePlan {
  double items_per_window = 0;
  int64_t devices = 0;  // that are done within each window
  double window_used = 0;
  double device_hours_per_day = 0;
};

// Returns kItemsPerWindow, kOfflineDevices, kWindowUsed, kDeviceHoursPerDay.
absl::StatusOr<OfflinePlan> PlanOffline(const OfflineWork& work);

// Returns kEnergyPerThousand: joules for a thousand requests, where `requests`
// took `joules`. Both may be of one second: watts, and requests/s.
absl::StatusOr<double> EnergyPerThousand(double joules, double requests);

// Returns 1 - after / before: what share a change saves; negative where it
// costs more. Any unit will do, the same in both.
absl::StatusOr<double> SavedShare(double before, double after);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_COST_H_
