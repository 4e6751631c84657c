// Implements LoadWarnings.
#include "server/control/load_warnings.h"

#include "absl/strings/str_cat.h"
#include "models/config/config_parameters.h"
#include "models/config/model_options.h"

namespace ferry {
namespace {

// Returns the first; null where it has none.
const TensorSpec* DoubleInput(const ServedModel& model) {
  for (const TensorSpec& input : model.spec.inputs) {
    if (input.type == DataType::kFp64) {
      return &input;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> LoadWarnings(const ServedModel& model) {
  const LoadReport& report = model.report;
  std::vector<std::string> warnings;
  if (!report.why_not_bf16.empty()) {
    warnings.push_back(
        absl::StrCat("is served in ferry.precision ", model.serving_precision,
                     ", as bf16 does not serve: ", report.why_not_bf16));
  }
  if (!report.why_not_compared.empty()) {
    warnings.push_back(
        absl::StrCat("is served in bf16 without having been compared with "
                     "fp32: ",
                     report.why_not_compared));
  }
  const TensorSpec* const doubles = DoubleInput(model);
  if (doubles != nullptr && model.asked_precision == kDefaultPrecision &&
      model.serving_precision != PrecisionName(Precision::kNative)) {
    warnings.push_back(absl::StrCat(
        "takes TYPE_FP64 input '", doubles->name, "' in ",
        model.serving_precision,
        ", which has fewer digits and ends at 3.4e38: ferry.precision native "
        "takes it as it is, and whichever is written ends this warning"));
  }
  if (report.leaves_out_sizes) {
    warnings.push_back(absl::StrCat(
        "was compared with fp32 in sizes up to ", report.largest_size,
        " only, as larger ones may take long: a "
        "model_warmup with a row of a large size compares that"));
  }
  if (!report.why_rows_unknown.empty()) {
    warnings.push_back(absl::StrCat(
        "was not looked at whether it mixes the rows of a batch, which may be "
        "of several requests: ",
        report.why_rows_unknown,
        "; a model_warmup with a row like those of clients shows it"));
  }
  if (!report.why_rows_unsure.empty()) {
    warnings.push_back(absl::StrCat(
        "may mix the rows of a batch, which may be of several requests: ",
        report.why_rows_unsure,
        "; where it does, leave out dynamic_batching and ferry.buckets"));
  }
  if (!report.why_no_full_batch.empty()) {
    warnings.push_back(absl::StrCat(
        "was looked at in a batch of a few rows only whether it mixes them, as "
        "a full one fails, of ",
        report.why_no_full_batch));
  }
  if (!report.mixed_output.empty()) {
    warnings.push_back(absl::StrCat(
        "mixes the rows of a batch: in output '", report.mixed_output,
        "' a row alone is not what it is beside others; so each request has "
        "a batch of its own, which is not padded, and of at most "
        "max_batch_size "
        "rows"));
  }
  return warnings;
}

std::string LargeRequestNote(const ServedModel& model) {
  const LoadReport& report = model.report;
  return model.scheduler->options().splits_requests ||
                 model.spec.max_batch_size < 1 || !report.mixed_output.empty()
             ? ""
             : absl::StrCat("refuses requests of more than ",
                            model.spec.max_batch_size,
                            " rows, as its rows may depend on each other: ",
                            report.why_not_independent);
}

}  // namespace ferry
