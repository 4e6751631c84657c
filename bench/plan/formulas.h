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

// A number that a formula gives.
struct Number {
  Formula formula;
  double value = 0;
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
inline constexpr Formula kDevicesUsed = {
    "devices_used", "devices",
    "sum over the models of peak_rate / (lambda_max * headroom)",
    "arithmetic, of one hour: shares of a device's time add up"};
inline constexpr Formula kSharedDevices = {
    "shared_devices", "devices", "ceil(highest devices_used of the hours)",
    "arithmetic, rounded once, for models that share devices"};
inline constexpr Formula kDevicesApart = {
    "devices_apart", "devices",
    "sum over the models of ceil(highest peak_rate / (lambda_max * headroom))",
    "arithmetic, where each model has devices of its own"};
inline constexpr Formula kOneProcessDevices = {
    "one_process_devices", "devices",
    "ceil(sum over the models of peak_rate / (whole_rate * headroom))",
    "arithmetic, rounded once: each device has one process with all models"};
inline constexpr Formula kMpsDevices = {
    "mps_devices", "devices",
    "ceil(sum over the models of peak_rate / (mps_rate * headroom))",
    "arithmetic, rounded once: each device has a process of each model"};
inline constexpr Formula kMigDevices = {
    "mig_devices", "devices",
    "fewest such that for each model sum(rate of its slices) * headroom >= "
    "peak_rate",
    "exact search over the layouts that NVIDIA's tables permit, by the rates "
    "that were measured of each profile"};
inline constexpr Formula kSmsHeld = {"sms_held", "SMs",
                                     "sum over the slices of their SMs",
                                     "the table of the device's profiles"};
inline constexpr Formula kSmsHeldShare = {
    "sms_held_share", "share", "sms_held / (mig_devices * sms_of_device)",
    "arithmetic: no slice has the rest"};
inline constexpr Formula kUtilization = {
    "utilization", "share", "average_rate / (replicas * lambda_max)",
    "utilization law of operational analysis (Denning and Buzen, 1978), with "
    "1 / lambda_max as the service time"};
inline constexpr Formula kDevicePerHour = {
    "device_per_hour", "currency/h",
    "(per_hour + upfront / term_hours) / devices_per_instance * (1 + "
    "overhead_share) + overhead_per_hour",
    "arithmetic on the row of the price file, and on its overheads, which are "
    "0 where it has none"};
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
inline constexpr Formula kTermHours = {"term_hours", "h", "given",
                                       "the row of the price file, or given"};
inline constexpr Formula kUsedShare = {
    "used_share", "share of the term", "given",
    "given: for how much of the term the instances are needed"};
inline constexpr Formula kRedoneShare = {
    "redone_share", "share of the work", "given",
    "given: work that is lost by interruptions and done again"};
inline constexpr Formula kOnDemandPerHour = {"on_demand_per_hour", "currency/h",
                                             "per_hour / devices_per_instance",
                                             "the row of the price file, with "
                                             "its overheads"};
inline constexpr Formula kSpotSavedShare = {
    "saved_share", "share", "1 - spot_per_hour / on_demand_per_hour",
    "arithmetic; negative: spot costs more"};
inline constexpr Formula kCostPerHourOfInstances = {
    "cost_per_hour", "currency/h",
    "device_per_hour * devices_per_instance * instances", "arithmetic"};
inline constexpr Formula kOnDemandPerMonth = {
    "on_demand_per_month", "currency/month",
    "on_demand_per_hour * instances * 720",
    "arithmetic, 30 days of 24 hours, as published comparisons have it; twelve "
    "of them are 8640 hours, not the 8760 of a year"};
inline constexpr Formula kOnDemandTotal = {
    "on_demand_total", "currency",
    "on_demand_per_hour * term_hours * instances",
    "arithmetic: used for the whole term"};
inline constexpr Formula kReservedTotal = {
    "reserved_total", "currency",
    "(upfront + reserved_per_hour * term_hours) * instances",
    "arithmetic: paid for the whole term, used or not"};
inline constexpr Formula kSaved = {
    "saved", "currency", "on_demand_total * used_share - reserved_total",
    "arithmetic; negative: reserved costs more"};
inline constexpr Formula kSavedShare = {
    "saved_share", "share", "saved / (on_demand_total * used_share)",
    "arithmetic"};
inline constexpr Formula kBreakEvenHours = {
    "break_even_hours", "h", "break_even_share * term_hours",
    "arithmetic: hours of use of the term from which reserved is cheaper"};
inline constexpr Formula kOffShare = {"off_share", "share of the week",
                                      "1 - on_hours_per_week / 168",
                                      "arithmetic, 7 days of 24 hours"};
inline constexpr Formula kSavedPerMonth = {
    "saved_per_month", "currency/month", "cost_per_hour * 720 * off_share",
    "arithmetic, 30 days of 24 hours; only where what is off is not paid for"};
inline constexpr Formula kSpotPerHour = {
    "spot_per_hour", "currency/h", "device_per_hour / (1 - redone_share)",
    "arithmetic: an hour of work that counts, where interruptions have a share "
    "of the work done again"};
inline constexpr Formula kItemsPerWindow = {"items_per_window", "items",
                                            "items_per_day / windows_per_day",
                                            "arithmetic"};
inline constexpr Formula kOfflineDevices = {
    "devices", "devices",
    "ceil(items_per_window / (window_hours * 3600 * rate))",
    "arithmetic; rate: items/s of one device, as measured"};
inline constexpr Formula kWindowUsed = {
    "window_used", "share",
    "items_per_window / (window_hours * 3600 * rate * devices)",
    "arithmetic: the rest of each window is idle"};
inline constexpr Formula kDeviceHoursPerDay = {
    "device_hours_per_day", "h", "devices * window_hours * windows_per_day",
    "arithmetic, where devices are paid for in their windows alone"};
inline constexpr Formula kCostPerDay = {
    "cost_per_day", "currency/day", "device_per_hour * device_hours_per_day",
    "arithmetic"};
inline constexpr Formula kPaid = {
    "paid", "currency", "device_per_hour * hours",
    "arithmetic: for the device's hours, used or not"};
inline constexpr Formula kIdleShare = {
    "idle_share", "share",
    "1 - compute seconds / max(hours * 3600, compute seconds)",
    "counted by the server, of all models; where instances compute at once, "
    "nothing idles"};
inline constexpr Formula kIdleHours = {
    "idle_hours", "h", "count(hours in which no request came)",
    "counted, whole hours from the recording's begin"};
inline constexpr Formula kWeightBytes = {
    "weight_bytes", "bytes", "parameters * bytes_per_parameter",
    "arithmetic: 4 bytes of fp32, 2 of bf16 and fp16, 1 of int8; or the bytes "
    "of the file's tensors"};
inline constexpr Formula kActivationBytes = {
    "activation_bytes", "bytes", "activation_bytes_per_row * rows",
    "arithmetic on what was measured of a row"};
inline constexpr Formula kMemoryBytes = {
    "memory_bytes", "bytes", "weight_bytes + activation_bytes",
    "arithmetic, for inference: no gradients, no state of an optimizer"};
inline constexpr Formula kIntensity = {
    "intensity", "operations a byte",
    "flops_per_row * rows / (weight_bytes + bytes_per_row * rows)",
    "roofline model (Williams, Waterman and Patterson, 2009)"};
inline constexpr Formula kRidge = {
    "ridge", "operations a byte", "peak operations/s / memory bytes/s",
    "the same: a lower intensity is bound by memory"};
inline constexpr Formula kComputeSeconds = {
    "compute_seconds", "s", "flops_per_row * rows / peak operations/s",
    "arithmetic: no batch is computed in less"};
inline constexpr Formula kMemorySeconds = {
    "memory_seconds", "s",
    "(weight_bytes + bytes_per_row * rows) / memory bytes/s",
    "arithmetic: weights are read once a batch"};
inline constexpr Formula kRooflineRate = {
    "roofline_rate", "rows/s", "rows / max(compute_seconds, memory_seconds)",
    "arithmetic: the most that the device could do, never a rate to plan with"};
inline constexpr Formula kRidgeRows = {
    "ridge_rows", "rows",
    "ceil(ridge * weight_bytes / (flops_per_row - ridge * bytes_per_row))",
    "arithmetic: from this batch on arithmetic is the bound"};
inline constexpr Formula kEnergyPerThousand = {
    "energy_per_thousand", "J", "joules / requests * 1000",
    "arithmetic; joules from an energy counter (NVML: "
    "nvmlDeviceGetTotalEnergyConsumption, mJ), or mean power * replicas / "
    "average_rate for each request"};

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_FORMULAS_H_
