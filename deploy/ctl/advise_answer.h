// AdviseAnswer() makes one answer of what other commands say: the steps from
// what is used to what to commit to, what to change first, and what it saves.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_ADVISE_ANSWER_H_
#define FERRY_DEPLOY_CTL_ADVISE_ANSWER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// One of the articles' steps, and what came of it. Not OK: what kept it from an
// answer.
struct AdviceStep {
  std::string name;  // "measure", "size"
  absl::StatusOr<Answer> answer;
};

// What there is now, and what it would be.
struct Change {
  int64_t devices_now = 0;
  int64_t devices_needed = 0;
  // What a device costs for an hour; nothing: no price was given.
  std::optional<double> per_hour = std::nullopt;
  // p99 that was measured at the rate of a device once there are so many, or at
  // the next rate above it; nothing: none was measured.
  std::optional<double> p99_ms = std::nullopt;
};

struct Advice {
  std::vector<AdviceStep> steps;
  std::string change_first;  // a sentence
  std::optional<Change> change = std::nullopt;
};

// Findings of a step keep their severity and have its name before their text.
Answer AdviseAnswer(const Advice& advice);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_ADVISE_ANSWER_H_
