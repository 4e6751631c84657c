// UnitsAnswer() writes an env file of ferry@.service for each slice that NVML
// sees, with ports and label as ferry-launch plans them.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found, where
// the ports do not do; FAILED_PRECONDITION where no device can have a server.
#ifndef FERRY_DEPLOY_CTL_UNITS_ANSWER_H_
#define FERRY_DEPLOY_CTL_UNITS_ANSWER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/ctl/answer.h"
#include "deploy/launch/launch_plan.h"
#include "models/nvml/devices.h"

namespace ferry::ctl {

// What `systemctl start ferry@LABEL` reads.
struct EnvFile {
  std::string label;  // "1g.18gb-0", as in LABEL.env
  std::string contents;

  std::string name() const { return label + ".env"; }
};

struct Units {
  std::vector<EnvFile> files;
  // Its artifact has all files, and what is found as comments before them.
  Answer answer;
};

// `options`: addresses and first ports.
absl::StatusOr<Units> UnitsAnswer(const nvml::Devices& devices,
                                  const launch::PlanOptions& options);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_UNITS_ANSWER_H_
