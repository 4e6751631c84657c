// Implements Diagnose(): the causes, and what each is told by.
#include "bench/plan/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::plan {
namespace {

constexpr double kPercent = 100;
constexpr char kClientLimited[] = "client_limited";
constexpr char kSmallBatches[] = "small_batches";

// Requests under way are steady where their number varies less than this part
// of what their rate does, or next to nothing.
constexpr double kSteadyOfRate = 0.5;
constexpr double kSteady = 0.02;

constexpr Symptom kRoom[] = {{Signal::kLoad, false, 0.8},
                             {Signal::kBatchFill, false, 0.5}};
constexpr Symptom kNoneRefused[] = {{Signal::kRefused, false, 0.001}};
constexpr Symptom kSmall[] = {{Signal::kBusy, true, 0.7},
                              {Signal::kBatchFill, false, 0.3},
                              {Signal::kLoad, false, 0.6}};
constexpr Symptom kHost[] = {{Signal::kStage, true, 0.3},
                             {Signal::kBusy, false, 0.7},
                             {Signal::kBatchFill, true, 0.5}};
constexpr Symptom kDramBusy[] = {{Signal::kDram, true, 0.7}};
constexpr Symptom kIsBusy[] = {{Signal::kBusy, true, 0.7}};
constexpr Symptom kPcieBusy[] = {{Signal::kPcie, true, 0.6}};
constexpr Symptom kRefusing[] = {{Signal::kRefused, true, 0.01},
                                 {Signal::kLoad, false, 0.8}};
constexpr Symptom kLaunching[] = {{Signal::kBusy, true, 0.7},
                                  {Signal::kSm, false, 0.4},
                                  {Signal::kBatchFill, true, 0.5}};
constexpr Symptom kDramIdle[] = {{Signal::kDram, false, 0.4}};
constexpr Symptom kPadded[] = {{Signal::kPadding, true, 0.25},
                               {Signal::kBusy, true, 0.5}};

// In the order that they are told in.
constexpr Cause kCauses[] = {
    {.name = kClientLimited,
     .meaning = "as many requests are under way all the time: clients wait for "
                "an answer before they send more, or send at a fixed pace",
     .setting = "have the clients send more at once: asynchronous calls, more "
                "workers; the server can take more",
     .symptoms = kRoom,
     .confirmations = kNoneRefused,
     .has_steady_requests = true},
    {.name = kSmallBatches,
     .meaning = "the device spends its time on small batches, and would do "
                "the same in less time by larger ones",
     .setting = "ferry.policy 'adaptive', or 'window' with a longer "
                "max_queue_delay_microseconds; fewer instances",
     .symptoms = kSmall,
     .confirmations = {},
     .has_steady_requests = false},
    {.name = "host_stage",
     .meaning = "the device waits while the host gathers and copies what the "
                "next batch has",
     .setting = "more --threads; inputs in the type that the model computes "
                "in, or in bytes; two instances, so that one copies while the "
                "other computes",
     .symptoms = kHost,
     .confirmations = {},
     .has_steady_requests = false},
    {.name = "dram_bound",
     .meaning = "the device's memory is at its bandwidth: multiprocessors "
                "wait for it",
     .setting = "a larger max_batch_size, so that weights are read once for "
                "more rows; a smaller type",
     .symptoms = kDramBusy,
     .confirmations = kIsBusy,
     .has_steady_requests = false},
    {.name = "pcie_bound",
     .meaning = "the link to the device is at what it carries",
     .setting = "inputs in bytes or bf16 in place of fp32; decode and resize "
                "before they are sent",
     .symptoms = kPcieBusy,
     .confirmations = {},
     .has_steady_requests = false},
    {.name = "concurrency_limit",
     .meaning = "requests are refused though the device has room",
     .setting = "the bound that refuses them: ferry_refused_total has the "
                "reason; --queue-requests, --queue-bytes, "
                "--client-max-requests",
     .symptoms = kRefusing,
     .confirmations = {},
     .has_steady_requests = false},
    {.name = "launch_bound",
     .meaning = "the device is busy with full batches, and few of its "
                "multiprocessors are: kernels are small, and launching them "
                "takes the time",
     .setting = "CUDA graphs, a larger max_batch_size, or a MIG slice",
     .symptoms = kLaunching,
     .confirmations = kDramIdle,
     .has_steady_requests = false},
    {.name = "padding",
     .meaning = "much of what is computed is padding",
     .setting = "more sizes in ferry.buckets, or in ferry.pad of an input, "
                "that are nearer to the requests'",
     .symptoms = kPadded,
     .confirmations = {},
     .has_steady_requests = false}};

// How much samples vary: their standard deviation over their mean.
std::optional<double> Variation(const Samples& samples,
                                const std::string& name) {
  const auto summary = Summarize(samples, name);
  if (!summary.ok() || summary->mean == 0) {
    return std::nullopt;
  }
  double squares = 0;
  for (const std::optional<double>& sample : samples) {
    const double off = sample.value_or(summary->mean) - summary->mean;
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(summary->samples)) /
         summary->mean;
}

// What is looked at of one cause.
class Examination {
 public:
  Examination(const Cause& cause, const Recording& recording)
      : cause_(cause), recording_(recording) {
    for (const Symptom& symptom : cause.symptoms) {
      Look(symptom, /*is_needed=*/true);
    }
    if (cause.has_steady_requests) {
      LookWhetherSteady();
    }
    for (const Symptom& symptom : cause.confirmations) {
      Look(symptom, /*is_needed=*/false);
    }
  }

  // Something that was sampled speaks against the cause.
  bool is_refuted() const { return is_refuted_; }

  // Why it is not known; empty: it is.
  const std::string& missing() const { return missing_; }

  FoundCause Found() && {
    return {.cause = cause_,
            .evidence = std::move(evidence_),
            .confidence = confidence_};
  }

 private:
  void Look(const Symptom& symptom, bool is_needed) {
    const std::string name = SignalName(symptom.signal);
    const auto column = recording_.signals.find(symptom.signal);
    const auto summary =
        column == recording_.signals.end()
            ? absl::FailedPreconditionError(name + " was not sampled")
            : Summarize(ActiveSamples(recording_, column->second), name);
    if (!summary.ok()) {
      if (is_needed) {
        Miss(std::string(summary.status().message()));
      } else {
        confidence_ = Confidence::kLow;
      }
      return;
    }
    const double mean = summary->mean;
    is_refuted_ = is_refuted_ || (symptom.is_least ? mean < symptom.bound
                                                   : mean > symptom.bound);
    evidence_.push_back(absl::StrFormat(
        "%s %.1f %% (%s %g %%)", name, mean * kPercent,
        symptom.is_least ? ">=" : "<=", symptom.bound * kPercent));
  }

  void LookWhetherSteady() {
    const auto rate =
        Variation(ActiveSamples(recording_, recording_.requests_per_second),
                  "requests_per_second");
    const auto under_way =
        Variation(ActiveSamples(recording_, recording_.requests_under_way),
                  "requests_under_way");
    if (!rate.has_value() || !under_way.has_value()) {
      Miss(
          "requests_per_second and requests_under_way were not sampled, or "
          "too seldom");
      return;
    }
    const bool is_steadier =
        *rate > kSteady && *under_way <= kSteadyOfRate * *rate;
    is_refuted_ = is_refuted_ || (!is_steadier && *under_way > kSteady);
    if (!is_steadier) {
      confidence_ = Confidence::kLow;
    }
    evidence_.push_back(absl::StrFormat(
        "requests under way vary by %.1f %%, their rate by %.1f %%",
        *under_way * kPercent, *rate * kPercent));
  }

  void Miss(const std::string& reason) {
    if (missing_.empty()) {
      missing_ = reason;
    }
  }

  const Cause& cause_;
  const Recording& recording_;
  std::vector<std::string> evidence_;
  Confidence confidence_ = Confidence::kHigh;
  bool is_refuted_ = false;
  std::string missing_;
};

void LeaveOutExplained(std::vector<FoundCause>& found) {
  const auto is_named = [](const char* name) {
    return [name](const FoundCause& one) {
      return std::string(one.cause.name) == name;
    };
  };
  if (std::any_of(found.begin(), found.end(), is_named(kClientLimited))) {
    found.erase(
        std::remove_if(found.begin(), found.end(), is_named(kSmallBatches)),
        found.end());
  }
}

}  // namespace

absl::Span<const Cause> Causes() { return kCauses; }

absl::StatusOr<Diagnosis> Diagnose(const Recording& recording) {
  Diagnosis diagnosis;
  const Samples& requests = recording.requests_per_second;
  diagnosis.samples = requests.empty()
                          ? recording.size
                          : ActiveSamples(recording, requests).size();
  for (const Cause& cause : kCauses) {
    Examination examination(cause, recording);
    if (examination.is_refuted()) {
      continue;
    }
    if (!examination.missing().empty()) {
      diagnosis.unknown.push_back(
          {.cause = cause, .reason = examination.missing()});
    } else {
      diagnosis.found.push_back(std::move(examination).Found());
    }
  }
  if (diagnosis.unknown.size() == std::size(kCauses)) {
    return absl::FailedPreconditionError(
        absl::StrCat("no cause is known: ", diagnosis.unknown.front().reason));
  }
  LeaveOutExplained(diagnosis.found);
  return diagnosis;
}

}  // namespace ferry::plan
