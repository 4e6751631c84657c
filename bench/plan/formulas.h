// Formula describes one formula of a plan: what its number is called, how it is
// computed, and where that comes from. Printed below the numbers;
// docs/planning.md explains.
//
// Thread safety: constants.
#ifndef FERRY_BENCH_PLAN_FORMULAS_H_
#define FERRY_BENCH_PLAN_FORMULAS_H_

namespace ferry::plan {

struct Formula {
  const char* name;  // of the number, also its key in JSON
  const char* unit;  // "currency" stands for that of the price file
  const char* expression;
  const char* source;
};

inline constexpr Formula kLambdaMax = {
    "lambda_max", "requests/s",
    "highest rate of successes that one replica reached in a steady open loop "
    "with p99 <= SLO and successes >= 99 % of what was planned",
    "measured; as the metric of MLPerf Inference's Server scenario"};
inline constexpr Formula kLambdaSafe = {
    "lambda_safe", "requests/s", "lambda_max * headroom",
    "definition; headroom 0.7 is Ferry's choice, not a law"};
inline constexpr Formula kPeakReplicas = {
    "peak_replicas", "replicas", "ceil(peak_rate / lambda_safe)",
    "arithmetic, rounded once: the number that is used"};
inline constexpr Formula kRoundedTwice = {
    "peak_replicas_rounded_twice", "replicas",
    "ceil(ceil(peak_rate / lambda_max) / headroom)",
    "a published article on GPU cost (500/s by 200/s is 3, + 20 % is 4): to "
    "compare, not used"};
inline constexpr Formula kReplicas = {
    "replicas", "replicas",
    "max(peak_replicas + spares, ceil(peak_replicas / (1 - lost_share)))",
    "N+1 redundancy: those that stay after a loss are enough for the peak"};
inline constexpr Formula kRateAfterLoss = {
    "rate_after_loss", "requests/s", "(replicas - 1) * lambda_max",
    "arithmetic; the headroom alone covers a loss if headroom <= 1 - 1 / "
    "peak_replicas"};
inline constexpr Formula kBurstRatio = {
    "burst_ratio", "times the peak", "1 / headroom",
    "arithmetic: peak of a minute over peak of 15 minutes may be at most this"};
inline constexpr Formula kUtilization = {
    "utilization", "share", "average_rate / (replicas * lambda_max)",
    "utilization law of operational analysis (Denning and Buzen, 1978), with "
    "1 / lambda_max as the service time"};
inline constexpr Formula kDevicePerHour = {
    "device_per_hour", "currency/h",
    "(per_hour + upfront / term_hours) / devices_per_instance",
    "arithmetic on the row of the price file"};
inline constexpr Formula kInstances = {
    "instances", "instances", "ceil(replicas / devices_per_instance)",
    "arithmetic, one device a replica; instances are paid for whole"};
inline constexpr Formula kCostPerHour = {
    "cost_per_hour", "currency/h",
    "device_per_hour * devices_per_instance * instances",
    "arithmetic; where instances have one device, device_per_hour * replicas"};
inline constexpr Formula kCostPerYear = {"cost_per_year", "currency/year",
                                         "cost_per_hour * 8760",
                                         "arithmetic, 365 days of 24 hours"};
inline constexpr Formula kCostPerMillion = {
    "cost_per_million", "currency",
    "cost_per_hour / (3600 * average_rate) * 1e6",
    "arithmetic, at the average rate, not at the peak"};
inline constexpr Formula kFloorPerMillion = {
    "floor_per_million", "currency",
    "device_per_hour / (3600 * lambda_max) * 1e6",
    "arithmetic: one replica at lambda_max all the time; no plan is cheaper"};
inline constexpr Formula kWaste = {
    "waste", "share", "1 - floor_per_million / cost_per_million",
    "arithmetic; equals 1 - utilization where no "
    "device of an instance is left over"};
inline constexpr Formula kBreakEvenShare = {
    "break_even_share", "share of the term",
    "(upfront + reserved_per_hour * term_hours) / (on_demand_per_hour * "
    "term_hours)",
    "arithmetic: used for more of the term than this, reserved is cheaper"};
inline constexpr Formula kEnergyPerThousand = {
    "energy_per_thousand", "J", "joules / requests * 1000",
    "arithmetic; joules from an energy counter (NVML: "
    "nvmlDeviceGetTotalEnergyConsumption, mJ), or mean power * replicas / "
    "average_rate for each request"};

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_FORMULAS_H_
