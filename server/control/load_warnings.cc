// Implements LoadWarnings.
#include "server/control/load_warnings.h"

#include "absl/strings/str_cat.h"

namespace ferry {

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
  if (!report.mixed_output.empty()) {
    warnings.push_back(absl::StrCat(
        "mixes the rows of a batch: in output '", report.mixed_output,
        "' a row alone is not what it is beside others; so each request has "
        "a batch of its own, which is not padded"));
  }
  return warnings;
}

}  // namespace ferry
