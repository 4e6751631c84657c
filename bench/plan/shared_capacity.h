// PlanShared() says how many devices several models need that share them, by
// their peaks of each hour of a day.
//
// A device's time adds up: a model that is asked for half of what one device
// carries takes half of it. What it does to the latency of the others has to be
// measured.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_BENCH_PLAN_SHARED_CAPACITY_H_
#define FERRY_BENCH_PLAN_SHARED_CAPACITY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ferry::plan {

inline constexpr size_t kHoursOfDay = 24;

struct ModelDay {
  std::string name;
  double lambda_max = 0;  // requests/s of one device within the SLO
  std::array<double, kHoursOfDay> peak_rates{};  // requests/s, hour 0 first
};

// Reads {"models": [{"name", "lambda_max", "peak_rates": [24 numbers]}, ..]};
// `name` is for messages. Refuses unknown keys, and two models of one name.
absl::StatusOr<std::vector<ModelDay>> ParseModelDays(const std::string& text,
                                                     const std::string& name);

struct SharedCapacity {
  std::array<double, kHoursOfDay> devices_used{};  // kDevicesUsed of each hour
  size_t busiest_hour = 0;                         // the first one
  int64_t devices = 0;                             // kSharedDevices
  int64_t devices_apart = 0;                       // kDevicesApart
};

// `headroom`: share of lambda_max to plan with, (0, 1]. REQUIRES: a model.
absl::StatusOr<SharedCapacity> PlanShared(const std::vector<ModelDay>& models,
                                          double headroom);

}  // namespace ferry::plan

#endif  // FERRY_BENCH_PLAN_SHARED_CAPACITY_H_
