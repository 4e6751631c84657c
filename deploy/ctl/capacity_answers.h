// CapacityAnswer() and SharedCapacityAnswer() say how many devices carry a
// load, by the formulas of bench/plan/formulas.h.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_DEPLOY_CTL_CAPACITY_ANSWERS_H_
#define FERRY_DEPLOY_CTL_CAPACITY_ANSWERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/capacity.h"
#include "bench/plan/shared_capacity.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// `measured`: where input.lambda_max is from, for people.
absl::StatusOr<Answer> CapacityAnswer(const plan::CapacityInput& input,
                                      const std::string& measured);

// Compares models that share devices with models that have their own. `spares`:
// devices beyond those that the peak needs.
absl::StatusOr<Answer> SharedCapacityAnswer(
    const std::vector<plan::ModelDay>& models, double headroom, int64_t spares);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_CAPACITY_ANSWERS_H_
