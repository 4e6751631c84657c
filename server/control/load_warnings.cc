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
  if (!report.mixed_output.empty()) {
    warnings.push_back(absl::StrCat(
        "mixes the rows of a batch: in output '", report.mixed_output,
        "' a row alone is not what it is beside others; so each request has "
        "a batch of its own, which is not padded"));
  }
  return warnings;
}

}  // namespace ferry
