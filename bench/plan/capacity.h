// PlanCapacity() says how many replicas carry a load, from the rate that one
// was measured to carry within its SLO. The formulas with their sources:
// bench/plan/formulas.h.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found; a
// number that is returned is finite.
#ifndef FERRY_BENCH_PLAN_CAPACITY_H_
#define FERRY_BENCH_PLAN_CAPACITY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ferry::plan {

struct CapacityInput {
  double lambda_max = 0;  // requests/s of one replica within the SLO
  double peak_rate = 0;   // requests/s of all
  double headroom = 0.7;  // share of lambda_max to plan with, (0, 1]
  int64_t spares = 1;     // replicas beyond those that the peak needs
  double lost_share = 0;  // of the replicas, that may go at once, [0, 1)
};

struct Capacity {
  double lambda_safe = 0;     // requests/s of one replica, to plan with
  int64_t peak_replicas = 0;  // for the peak, rounded once
  int64_t peak_replicas_rounded_twice = 0;  // to compare, not used
  int64_t replicas = 0;                     // in all
  double rate_after_loss = 0;  // requests/s within the SLO without one of them
  double burst_ratio = 0;      // of a minute to 15, that the headroom carries
  // The peak is served after a loss: by the headroom of peak_replicas alone
  // (the rule headroom <= 1 - 1 / peak_replicas), and by all replicas.
  bool headroom_covers_loss = false;
  bool replicas_cover_loss = false;
};

// Returns kLambdaSafe, kPeakReplicas, kRoundedTwice, kReplicas, kRateAfterLoss
// and kBurstRatio. A quotient within 1e-12 of a whole number counts as it:
// 500 / (200 / 1.2) is 3 replicas, not 4.
absl::StatusOr<Capacity> PlanCapacity(const CapacityInput& input);

// Returns kUtilization, (0, 1]. Rates in requests/s, the average that of all
// replicas together; what they cannot carry is refused.
absl::StatusOr<double> Utilization(double average_rate, int64_t replicas,
                                   double lambda_max);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_CAPACITY_H_
