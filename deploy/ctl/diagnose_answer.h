// DiagnoseAnswer() says why a device does no more than it does, and what to
// change; RooflineAnswer() what it could do at most.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found;
// NOT_FOUND where there is no such device; FAILED_PRECONDITION where the
// recording does not say, or the device's numbers are not there.
#ifndef FERRY_DEPLOY_CTL_DIAGNOSE_ANSWER_H_
#define FERRY_DEPLOY_CTL_DIAGNOSE_ANSWER_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/plan/device_file.h"
#include "bench/plan/recording.h"
#include "bench/plan/roofline.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// `source`: where the recording is from, for people.
absl::StatusOr<Answer> DiagnoseAnswer(const plan::Recording& recording,
                                      const std::string& source);

struct RooflineQuestion {
  // Without the device's numbers, which are `device`'s of the file.
  plan::RooflineInput input;
  std::string device;
};

absl::StatusOr<Answer> RooflineAnswer(const RooflineQuestion& question,
                                      const plan::DeviceFile& devices);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_DIAGNOSE_ANSWER_H_
