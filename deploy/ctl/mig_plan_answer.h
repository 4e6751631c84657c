// MigPlanAnswer() compares models in MIG slices with the same models in one
// process on whole devices, and by MPS.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// FAILED_PRECONDITION where no way is known, or the one that was asked for is
// not; NOT_FOUND for a price that the file does not have.
#ifndef FERRY_DEPLOY_CTL_MIG_PLAN_ANSWER_H_
#define FERRY_DEPLOY_CTL_MIG_PLAN_ANSWER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/mig_plan.h"
#include "bench/plan/price_file.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

struct MigQuestion {
  plan::MigDevice device;
  plan::MigModelFile file;
  double headroom = 0.7;  // share of each measured rate to plan with
  std::vector<std::string> layout = {};  // of each device; empty: it is chosen
  std::string artifact = "";  // to print, of mig_artifacts.h; empty: none
};

// Reads the models' file, for that device; the rest is as it is by default.
// Errors: NOT_FOUND for a device or a file that is not there.
absl::StatusOr<MigQuestion> ReadMigQuestion(const std::string& device,
                                            const std::string& models_path);

// What a device costs: a row of a file.
struct MigPrices {
  plan::DatedPrices file;
  plan::PriceQuery query;
};

absl::StatusOr<Answer> MigPlanAnswer(const MigQuestion& question,
                                     const std::optional<MigPrices>& prices);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_MIG_PLAN_ANSWER_H_
