// MemoryAnswer() says what a model takes of a device's memory, and which
// devices have as much.
//
// Thread safety: free functions over values.
// Errors: INVALID_ARGUMENT, with what was expected and what was found.
#ifndef FERRY_DEPLOY_CTL_MEMORY_ANSWER_H_
#define FERRY_DEPLOY_CTL_MEMORY_ANSWER_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/plan/device_file.h"
#include "bench/plan/memory.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

struct MemoryQuestion {
  plan::MemoryInput input;
  std::string weights;  // where input.weight_bytes is from, for people
  // Share of a device's memory, [0, 1), that driver, libraries and gaps of the
  // allocator take.
  double reserve_share = 0.1;
};

absl::StatusOr<Answer> MemoryAnswer(
    const MemoryQuestion& question,
    const std::optional<plan::DeviceFile>& devices);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_MEMORY_ANSWER_H_
