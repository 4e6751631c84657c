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
#include "bench/plan/price_file.h"
#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// A step of the articles', and what came of it. Not OK: what kept it from an
// answer.
struct AdviceStep {
  std::string name;  // one of those below, or "share"
  absl::StatusOr<Answer> answer;
};

inline constexpr char kMeasureStep[] = "measure";
inline constexpr char kReasonStep[] = "reason";
inline constexpr char kSizeStep[] = "size";
inline constexpr char kShareStep[] = "share";
inline constexpr char kCommitStep[] = "commit";

// What there is now, and what it would be.
struct Change {
  int64_t devices_now = 0;
  int64_t devices_needed = 0;
  // What an instance of the devices costs; nothing: no price was given.
  std::optional<plan::PriceRow> price = std::nullopt;
  // p99 that was measured at the rate of a device once there are so many, or at
  // the next rate above it; nothing: none was measured.
  std::optional<double> p99_ms = std::nullopt;
};

struct Advice {
  std::vector<AdviceStep> steps;
  std::optional<Change> change = std::nullopt;
  std::string currency = "";  // of the change's price
};

// Returns how many instances have so many devices: they are paid for whole.
int64_t InstancesOf(int64_t devices, const plan::PriceRow& price);

// Returns a note where a result's device and that of a price do not seem to be
// one: the first word of the price's name that has a digit, as "h100", is not
// in the name of the result's. Nothing where either is not told.
std::optional<Finding> OfAnotherDevice(const std::string& measured,
                                       const std::string& priced);

// The sentence says what to change first: what keeps a device from doing more,
// else how many there are to be, else what the measure finds.
// Findings of a step keep their severity and have its name before their text.
Answer AdviseAnswer(const Advice& advice);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_ADVISE_ANSWER_H_
