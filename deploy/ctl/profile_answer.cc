// Implements ProfileAnswer().
#include "deploy/ctl/profile_answer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/plan/number_text.h"

namespace ferry::ctl {
namespace {

using plan::Signal;

constexpr double kPercent = 100;

// What a policy makes of one signal.
struct Verdict {
  double percent = 0;
  plan::Band band{};
};

absl::StatusOr<Verdict> Judge(const plan::Policy& policy, Signal signal,
                              const plan::Summary& summary) {
  const double share = signal == Signal::kMemory ? summary.peak : summary.mean;
  const auto band = plan::BandOf(policy, share * kPercent);
  if (!band.ok()) {
    return band.status();
  }
  return Verdict{.percent = share * kPercent, .band = *band};
}

absl::Status CheckLength(const plan::Policy& policy,
                         const plan::Recording& recording) {
  // The last sample stands for its period.
  if (recording.hours() >= policy.least_hours) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("policy ", policy.name, ": expected a recording of ",
                   plan::NumberText(policy.least_hours), " hours or more, got ",
                   plan::NumberText(recording.hours())));
}

std::string PercentText(double percent) {
  return absl::StrFormat("%.1f %%", percent);
}

// Whether it is a share of what requests make: there is none without them.
bool IsOfRequests(Signal signal) {
  return signal == Signal::kBatchFill || signal == Signal::kStage ||
         signal == Signal::kPadding || signal == Signal::kRefused;
}

void AddRows(const plan::Recording& recording, Answer& answer) {
  answer.table.headings = {"signal", "mean", "p50", "p95", "peak", "samples"};
  const auto add = [&](const std::string& name, const plan::Samples& samples,
                       double unit) {
    const auto summary = plan::Summarize(samples, name);
    if (!summary.ok()) {
      answer.findings.push_back({Severity::kNote, "not_known",
                                 std::string(summary.status().message())});
      return;
    }
    const auto cell = [unit](double value) {
      return absl::StrFormat("%.1f", value * unit);
    };
    answer.table.rows.push_back({name, cell(summary->mean), cell(summary->p50),
                                 cell(summary->p95), cell(summary->peak),
                                 absl::StrCat(summary->samples)});
  };
  for (const auto& [signal, samples] : recording.signals) {
    add(absl::StrCat(plan::SignalName(signal), " %"),
        IsOfRequests(signal) ? plan::ActiveSamples(recording, samples)
                             : samples,
        kPercent);
  }
  if (!recording.power_w.empty()) {
    add("power W", recording.power_w, 1);
  }
  if (!recording.requests_per_second.empty()) {
    add("requests/s", recording.requests_per_second, 1);
  }
}

Finding FindingOf(const plan::Policy& policy, Signal signal,
                  const Verdict& verdict) {
  const Severity severity = verdict.band.use == plan::Use::kRight
                                ? Severity::kNote
                                : Severity::kWarning;
  return {severity, verdict.band.name,
          absl::StrCat(plan::SignalName(signal), " of ",
                       PercentText(verdict.percent), " is '", verdict.band.name,
                       "' by ", policy.name, ": ", verdict.band.meaning)};
}

}  // namespace

std::string RecordingText(const plan::Recording& recording,
                          const std::string& source) {
  return absl::StrCat(source, ", ", recording.size, " samples, one in ",
                      plan::NumberText(recording.period_s), " s, ",
                      plan::NumberText(recording.hours()), " hours");
}

absl::StatusOr<Answer> ProfileAnswer(const plan::Recording& recording,
                                     const ProfileQuestion& question) {
  const auto policy = plan::FindPolicy(question.policy);
  if (!policy.ok()) {
    return policy.status();
  }
  const Signal signal = policy->has_signal
                            ? policy->signal
                            : question.signal.value_or(policy->signal);
  if (question.signal.has_value() && *question.signal != signal) {
    return absl::InvalidArgumentError(
        absl::StrCat("signal: expected '", plan::SignalName(signal),
                     "', which ", policy->name, " is of, got '",
                     plan::SignalName(*question.signal), "'"));
  }
  if (absl::Status status = CheckLength(*policy, recording); !status.ok()) {
    return status;
  }
  const auto samples = recording.signals.find(signal);
  const auto summary = plan::Summarize(
      samples == recording.signals.end() ? plan::Samples() : samples->second,
      plan::SignalName(signal));
  if (!summary.ok()) {
    return summary.status();
  }
  const auto verdict = Judge(*policy, signal, *summary);
  if (!verdict.ok()) {
    return verdict.status();
  }
  Answer answer;
  answer.command = "profile";
  answer.inputs = {
      {"recording", RecordingText(recording, question.source)},
      {"policy", absl::StrCat(policy->name, ", ", policy->source)}};
  answer.sentence =
      absl::StrCat("'", verdict->band.name, "': ", plan::SignalName(signal),
                   " was ", PercentText(verdict->percent),
                   signal == Signal::kMemory ? " at its peak" : " on average",
                   " (", policy->name, ").");
  AddRows(recording, answer);
  answer.findings.push_back(FindingOf(*policy, signal, *verdict));
  if (const auto busy = recording.signals.find(Signal::kBusy);
      signal == Signal::kLoad && busy != recording.signals.end()) {
    const auto busy_summary =
        plan::Summarize(busy->second, plan::SignalName(Signal::kBusy));
    const auto busy_verdict = busy_summary.ok()
                                  ? Judge(*policy, Signal::kBusy, *busy_summary)
                                  : busy_summary.status();
    if (busy_verdict.ok()) {
      answer.findings.push_back(
          {Severity::kNote, "by_busy",
           absl::StrCat("by the same bands busy, ",
                        PercentText(busy_verdict->percent), ", would be '",
                        busy_verdict->band.name,
                        "'; it says that something ran, not how much")});
    }
  }
  if (const auto hours = plan::CountHours(recording); hours.has_value()) {
    answer.numbers.push_back({plan::kIdleHours, hours->idle});
  }
  return answer;
}

}  // namespace ferry::ctl
