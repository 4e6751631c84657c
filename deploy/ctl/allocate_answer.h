// AllocateAnswer() says which model and client a device's price is for, by the
// seconds that it computed for each.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// NOT_FOUND for a price that the file does not have.
#ifndef FERRY_DEPLOY_CTL_ALLOCATE_ANSWER_H_
#define FERRY_DEPLOY_CTL_ALLOCATE_ANSWER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/plan/allocation.h"
#include "bench/plan/price_file.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// What a device computed over a time.
struct MeasuredUse {
  absl::Time begin;
  absl::Time end;
  std::string source;  // where it was read, for people
  std::string device;  // UUID; empty: not known
  std::vector<plan::ComputeUse> models;
  std::vector<plan::ComputeUse> clients;
  std::string shorter = "";  // why it is of less than was asked for; or empty
};

// With `is_table` the answer's artifact is a table of comma-separated values,
// whose columns have the names of FOCUS 1.0, the FinOps Open Cost and Usage
// Specification.
absl::StatusOr<Answer> AllocateAnswer(const MeasuredUse& use,
                                      const plan::DatedPrices& prices,
                                      const plan::PriceQuery& query,
                                      bool is_table);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_ALLOCATE_ANSWER_H_
