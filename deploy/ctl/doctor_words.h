// ValueOf() looks up names, and Unknown() and its like write outcomes, for the
// checks of doctor_checks.h.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_DOCTOR_WORDS_H_
#define FERRY_DEPLOY_CTL_DOCTOR_WORDS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "deploy/ctl/doctor_checks.h"
#include "models/nvml/abi.h"

namespace ferry::ctl {

inline constexpr char kServerProgram[] = "ferry-server";
inline constexpr char kResetRemedy[] =
    "look for an Xid in `dmesg`, then `nvidia-smi --gpu-reset`, or start the "
    "machine anew";

std::optional<std::string> ValueOf(const NamedValues& values,
                                   const std::string& name);

// Returns the check as one that could not look, with a warning that says why.
Check Unknown(Check check, const std::string& finding,
              const absl::Status& reason);

// Returns the check as one that has nothing to look at.
Check Nothing(Check check, const std::string& why);

// Adds what NVML did not let be read: unknown without permission, else lost.
void AddUnread(const std::string& what, nvml::Code code, Check& check);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_DOCTOR_WORDS_H_
