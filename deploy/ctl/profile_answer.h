// ProfileAnswer() says how much of a device was used over a recording, and what
// a policy makes of it.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// FAILED_PRECONDITION where the recording does not say: then nothing is
// advised.
#ifndef FERRY_DEPLOY_CTL_PROFILE_ANSWER_H_
#define FERRY_DEPLOY_CTL_PROFILE_ANSWER_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/plan/policy.h"
#include "bench/plan/recording.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

struct ProfileQuestion {
  std::string policy = "s0-target";
  // Nothing: the policy's own, else load.
  std::optional<plan::Signal> signal = std::nullopt;
  std::string source = "a recording";  // where it is from, for people
};

// Returns how long a recording is, and where it is from, for people.
std::string RecordingText(const plan::Recording& recording,
                          const std::string& source);

// The verdict is on the mean, and that of memory on the peak. Beside load it
// says what the same bands make of busy.
absl::StatusOr<Answer> ProfileAnswer(const plan::Recording& recording,
                                     const ProfileQuestion& question);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_PROFILE_ANSWER_H_
