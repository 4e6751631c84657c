// Plan says how many replicas a measured result calls for, and what they cost.
// The formulas are bench/plan's; here they are applied, in the order in which
// they are shown.
//
// Thread safety: plain values and free functions over them.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_COMMANDS_PLAN_RESULT_H_
#define FERRY_BENCH_COMMANDS_PLAN_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/commands/slo_point.h"
#include "bench/plan/formulas.h"
#include "bench/plan/price_file.h"

namespace ferry::bench {

// What the plan is for. Rates are of all replicas together, in requests/s.
struct PlanRequest {
  double slo_p99_ms = 0;
  std::optional<double> peak_rate = std::nullopt;
  // Only with peak_rate, at most as much.
  std::optional<double> average_rate = std::nullopt;
  double headroom = 0.7;  // share of lambda_max, (0, 1]
  int64_t spares = 1;
  double lost_share = 0;  // of the replicas, [0, 1)
  // Mean watts of one device at the average rate.
  std::optional<double> power_w = std::nullopt;
};

// A row of a price file, and what the file says of itself.
struct PlanPrice {
  std::string currency;
  std::string as_of;
  std::string source;
  std::string age_warning;  // "" where the prices are fresh
  std::string overheads;    // that are in each price; "" where there are none
  plan::PriceRow row;
  std::optional<plan::PriceRow> on_demand;  // beside a reserved row
};

struct Plan {
  SloPoint limit;
  std::vector<plan::Number> numbers;
  std::vector<std::string> notes;

  // Returns the number, or nothing where what it needs was not given.
  std::optional<double> Find(const plan::Formula& formula) const;
};

absl::StatusOr<Plan> MakePlan(const SloPoint& limit, const PlanRequest& request,
                              const std::optional<PlanPrice>& price);

// All that `ferry-bench plan` says.
struct PlanReport {
  PlanRequest request;
  std::optional<PlanPrice> price;
  Plan plan;
  std::optional<Plan> before;
};

// Returns the share of the money, and without a price of the replicas, that the
// plan saves; negative where it takes more. Nothing without a before or a peak.
std::optional<double> SavedShare(const PlanReport& report);

// Refuses plans whose requests have different numbers of rows.
absl::Status CheckComparable(const Plan& before, const Plan& after);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_PLAN_RESULT_H_
