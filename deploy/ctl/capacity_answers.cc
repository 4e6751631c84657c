// Implements the answers about capacity.
#include "deploy/ctl/capacity_answers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/plan/number_check.h"
#include "bench/plan/number_text.h"

namespace ferry::ctl {
namespace {

using plan::NumberText;

std::string Devices(int64_t count) {
  return absl::StrCat(count, count == 1 ? " device" : " devices");
}

}  // namespace

absl::StatusOr<Answer> CapacityAnswer(const plan::CapacityInput& input,
                                      const std::string& measured) {
  const auto capacity = plan::PlanCapacity(input);
  if (!capacity.ok()) {
    return capacity.status();
  }
  Answer answer;
  answer.command = "capacity";
  answer.inputs = {{"measured", measured}};
  answer.sentence = absl::StrCat(
      "A peak of ", NumberText(input.peak_rate), " requests/s takes ",
      Devices(capacity->replicas), " of ", NumberText(input.lambda_max),
      " requests/s each: ", capacity->peak_replicas, " for the peak, ",
      capacity->replicas - capacity->peak_replicas, " to lose.");
  answer.numbers = {
      {plan::kLambdaMax, input.lambda_max},
      {plan::kLambdaSafe, capacity->lambda_safe},
      {plan::kBurstRatio, capacity->burst_ratio},
      {plan::kPeakReplicas, static_cast<double>(capacity->peak_replicas)},
      {plan::kRoundedTwice,
       static_cast<double>(capacity->peak_replicas_rounded_twice)},
      {plan::kReplicas, static_cast<double>(capacity->replicas)},
      {plan::kRateAfterLoss, capacity->rate_after_loss}};
  if (capacity->peak_replicas != capacity->peak_replicas_rounded_twice) {
    answer.findings.push_back(
        {Severity::kNote, "rounded_twice_is_more",
         absl::StrCat("rounded once it is ", capacity->peak_replicas,
                      ", which is used; rounded twice, as articles have it, ",
                      capacity->peak_replicas_rounded_twice)});
  }
  if (!capacity->replicas_cover_loss) {
    answer.findings.push_back(
        {Severity::kWarning, "loss_is_not_covered",
         absl::StrCat("after the loss of one device the others carry ",
                      NumberText(capacity->rate_after_loss),
                      " requests/s within the SLO, less than the peak: add "
                      "--spares")});
  }
  return answer;
}

absl::StatusOr<Answer> SharedCapacityAnswer(
    const std::vector<plan::ModelDay>& models, double headroom,
    int64_t spares) {
  if (absl::Status status = plan::CheckReplicas("spares", spares, 0);
      !status.ok()) {
    return status;
  }
  const auto shared = plan::PlanShared(models, headroom);
  if (!shared.ok()) {
    return shared.status();
  }
  Answer answer;
  answer.command = "capacity";
  answer.sentence =
      absl::StrCat(models.size(), " models that share devices take ",
                   Devices(shared->devices + spares), ", ", shared->devices,
                   " for the busiest hour, ", shared->busiest_hour,
                   " o'clock; with devices of their own, ",
                   Devices(shared->devices_apart), " and spares of each.");
  for (const plan::ModelDay& model : models) {
    answer.inputs.emplace_back(model.name,
                               absl::StrCat(NumberText(model.lambda_max),
                                            " requests/s of one device"));
  }
  answer.numbers = {
      {plan::kDevicesUsed, shared->devices_used[shared->busiest_hour]},
      {plan::kSharedDevices, static_cast<double>(shared->devices)},
      {plan::kDevicesApart, static_cast<double>(shared->devices_apart)}};
  answer.table.headings = {"hour", "devices_used"};
  for (size_t hour = 0; hour < plan::kHoursOfDay; ++hour) {
    answer.table.rows.push_back(
        {absl::StrFormat("%02d:00", static_cast<int>(hour)),
         absl::StrFormat("%.2f", shared->devices_used[hour])});
  }
  answer.findings.push_back(
      {Severity::kNote, "measure_them_together",
       "shares of a device's time add up, latencies do not: measure the models "
       "on one device at their rates of the busiest hour"});
  return answer;
}

}  // namespace ferry::ctl
