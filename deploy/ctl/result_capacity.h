// ResultCapacityAnswer() says how many devices carry a load by a result of
// ferry-bench, and MeasuredP99() what p99 it has at a rate.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_RESULT_CAPACITY_H_
#define FERRY_DEPLOY_CTL_RESULT_CAPACITY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/plan/capacity.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// A result, of one device, and what is promised of it.
struct MeasuredResult {
  std::string path;
  std::string label;  // of a run; empty: the file has one
  double slo_p99_ms = 0;
};

// `input` without its lambda_max, which is the result's. Errors: those of
// bench::ReadSloPoint(), MeasuredDevice() and CapacityAnswer().
absl::StatusOr<Answer> ResultCapacityAnswer(const MeasuredResult& result,
                                            const plan::CapacityInput& input);

// Returns the name of the device that the result was measured on, as its server
// or NVML told it; empty where none did. Errors: also INVALID_ARGUMENT where
// runs of that label are of several devices.
absl::StatusOr<std::string> MeasuredDevice(const MeasuredResult& result);

// Returns the p99 in ms of the lowest rate of an open loop that was measured
// and is at least that, requests/s; nothing where there is none. Errors: of a
// file that cannot be read, or is no result.
absl::StatusOr<std::optional<double>> MeasuredP99(const MeasuredResult& result,
                                                  double rate);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_RESULT_CAPACITY_H_
