// Implements DiagnoseAnswer() and RooflineAnswer().
#include "deploy/ctl/diagnose_answer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/plan/diagnosis.h"
#include "bench/plan/formulas.h"
#include "bench/plan/number_text.h"
#include "deploy/ctl/profile_answer.h"

namespace ferry::ctl {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMilli = 1e3;

const char* ConfidenceName(plan::Confidence confidence) {
  return confidence == plan::Confidence::kHigh ? "high" : "low";
}

std::string SentenceOf(const plan::Diagnosis& diagnosis) {
  if (diagnosis.found.empty()) {
    return diagnosis.unknown.empty()
               ? "Nothing that was looked for keeps the device from doing more."
               : "Nothing was found of what could be looked for; some of it "
                 "is not known.";
  }
  return absl::StrCat(
      "Found: ",
      absl::StrJoin(diagnosis.found, ", ",
                    [](std::string* out, const plan::FoundCause& found) {
                      absl::StrAppend(out, found.cause.name);
                    }),
      ".");
}

}  // namespace

absl::StatusOr<Answer> DiagnoseAnswer(const plan::Recording& recording,
                                      const std::string& source) {
  const auto diagnosis = plan::Diagnose(recording);
  if (!diagnosis.ok()) {
    return diagnosis.status();
  }
  Answer answer;
  answer.command = "diagnose";
  answer.sentence = SentenceOf(*diagnosis);
  answer.inputs = {
      {"recording", RecordingText(recording, source)},
      {"looked at", absl::StrCat("means of ", diagnosis->samples,
                                 " samples, those in which requests came")}};
  answer.table.headings = {"cause", "confidence", "evidence"};
  for (const plan::FoundCause& found : diagnosis->found) {
    answer.table.rows.push_back({found.cause.name,
                                 ConfidenceName(found.confidence),
                                 absl::StrJoin(found.evidence, ", ")});
    answer.findings.push_back(
        {Severity::kWarning, found.cause.name,
         absl::StrCat(found.cause.name, ": ", found.cause.meaning,
                      ". To change: ", found.cause.setting)});
  }
  for (const plan::UnknownCause& unknown : diagnosis->unknown) {
    answer.findings.push_back(
        {Severity::kNote, "not_known",
         absl::StrCat("whether ", unknown.cause.name, " is a cause is not ",
                      "known: ", unknown.reason)});
  }
  return answer;
}

absl::StatusOr<Answer> RooflineAnswer(const RooflineQuestion& question,
                                      const plan::DeviceFile& devices) {
  const auto device = plan::FindDevice(devices, question.device);
  if (!device.ok()) {
    return device.status();
  }
  if (device->tflops == 0 || device->memory_gb_per_second == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("device ", device->name,
                     ": expected tflops and memory_gb_per_second in the file "
                     "of devices, which has them not"));
  }
  plan::RooflineInput input = question.input;
  input.peak_flops = device->tflops * kTera;
  input.peak_bytes = device->memory_gb_per_second * kGiga;
  const auto roofline = plan::PlanRoofline(input);
  if (!roofline.ok()) {
    return roofline.status();
  }
  Answer answer;
  answer.command = "diagnose roofline";
  answer.inputs = {
      {"batch",
       absl::StrCat(
           plan::NumberText(input.flops_per_row), " operations and ",
           plan::NumberText(input.bytes_per_row), " bytes a row, weights of ",
           plan::NumberText(input.weight_bytes), " bytes, rows: ", input.rows)},
      {"device", absl::StrCat(device->name, ", ",
                              plan::NumberText(device->tflops), " TFLOP/s, ",
                              plan::NumberText(device->memory_gb_per_second),
                              " GB/s; source: ", devices.source)}};
  answer.numbers = {{plan::kIntensity, roofline->intensity},
                    {plan::kRidge, roofline->ridge},
                    {plan::kComputeSeconds, roofline->compute_s},
                    {plan::kMemorySeconds, roofline->memory_s},
                    {plan::kRooflineRate, roofline->rows_s}};
  answer.sentence = absl::StrFormat(
      "A batch of %d on %s is bound by %s: memory takes %.3f ms, arithmetic "
      "%.3f ms at least.",
      input.rows, device->name,
      roofline->is_memory_bound() ? "memory" : "arithmetic",
      roofline->memory_s * kMilli, roofline->compute_s * kMilli);
  if (roofline->ridge_rows.has_value()) {
    answer.numbers.push_back({plan::kRidgeRows, *roofline->ridge_rows});
  } else {
    answer.findings.push_back(
        {Severity::kNote, "memory_bound_at_any_batch",
         "no batch is large enough to be bound by arithmetic: a row's bytes "
         "take longer than its operations"});
  }
  answer.findings.push_back(
      {Severity::kNote, "a_bound",
       "these are bounds of the device, which no kernel reaches: measure a "
       "rate before planning with it"});
  return answer;
}

}  // namespace ferry::ctl
