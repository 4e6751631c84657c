// Implements MemoryAnswer().
#include "deploy/ctl/memory_answer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/plan/number_text.h"

namespace ferry::ctl {
namespace {

constexpr double kGib = 1 << 30;
constexpr double kGb = 1e9;

std::string BytesText(double bytes) {
  return absl::StrFormat("%s GB (%.2f GiB)", plan::NumberText(bytes / kGb),
                         bytes / kGib);
}

}  // namespace

absl::StatusOr<Answer> MemoryAnswer(
    const MemoryQuestion& question,
    const std::optional<plan::DeviceFile>& devices) {
  const auto need = plan::PlanMemory(question.input);
  if (!need.ok()) {
    return need.status();
  }
  if (!(question.reserve_share >= 0 && question.reserve_share < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("reserve share: expected a share of a device's memory "
                     "from 0 to below 1, got ",
                     question.reserve_share));
  }
  Answer answer;
  answer.command = "memory";
  answer.inputs = {{"weights", question.weights}};
  answer.numbers = {{plan::kWeightBytes, question.input.weight_bytes},
                    {plan::kActivationBytes, need->activation_bytes},
                    {plan::kMemoryBytes, need->total_bytes}};
  answer.sentence =
      absl::StrCat("It takes ", BytesText(need->total_bytes), " to serve");
  if (question.input.activation_bytes_per_row == 0) {
    answer.findings.push_back(
        {Severity::kWarning, "activations_are_not_known",
         "these are the weights alone: give --activation-bytes-per-row, as "
         "the peak of two batches on a device tells it"});
  }
  if (devices.has_value()) {
    answer.inputs.emplace_back("devices", "source: " + devices->source);
    answer.table.headings = {"device", "GiB", "fits"};
    std::vector<std::string> fitting;
    for (const plan::DeviceSpec& device : devices->devices) {
      const bool fits = need->total_bytes <=
                        device.memory_gib * kGib * (1 - question.reserve_share);
      answer.table.rows.push_back({device.name,
                                   plan::NumberText(device.memory_gib),
                                   fits ? "yes" : "no"});
      if (fits) {
        fitting.push_back(device.name);
      }
    }
    absl::StrAppend(&answer.sentence, "; it fits on ",
                    fitting.empty() ? "none of these devices"
                                    : absl::StrJoin(fitting, ", "));
    if (fitting.empty()) {
      answer.findings.push_back(
          {Severity::kCritical, "fits_on_no_device",
           "none of the devices has as much memory, less the reserve: a "
           "smaller type or batch takes less"});
    }
  }
  answer.sentence += ".";
  return answer;
}

}  // namespace ferry::ctl
