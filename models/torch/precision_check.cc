// Implements CheckPrecision and CheckRows: compares, and says so in words.
#include "models/torch/precision_check.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry {
namespace {

std::string Percent(double share) {
  return absl::StrFormat("%.3g%%", share * 100);
}

std::string WhyNot(const ProbeError& error, const ModelOptions& options) {
  const std::string output =
      absl::StrCat("output '", options.spec.outputs[error.output].name, "'");
  return std::isinf(error.share)
             ? absl::StrCat(output,
                            " has another shape or type than in fp32, or is "
                            "infinite or no number where fp32 is finite")
             : absl::StrCat(output, " is off by ", Percent(error.share),
                            " of its largest value in fp32, expected at most ",
                            Percent(options.precision_tolerance),
                            " (ferry.precision_tolerance)");
}

}  // namespace

absl::Status CheckPrecision(const NetworkProbe& in_fp32, Network& network,
                            at::Device device, const ModelOptions& options,
                            LoadReport& report) {
  const absl::StatusOr<ProbeError> error = in_fp32.Compare(
      network, options.precision, device, MayComputeParts(options, report));
  if (error.ok()) {
    report.max_error = error->share;
    report.output = options.spec.outputs[error->output].name;
    report.largest_size = in_fp32.largest_size();
    report.leaves_out_sizes = in_fp32.leaves_out_sizes();
    if (error->share <= options.precision_tolerance) {
      report.why_not_bf16.clear();
      return absl::OkStatus();
    }
    report.why_not_bf16 = WhyNot(*error, options);
  } else if (absl::IsResourceExhausted(error.status())) {  // fp32 takes more
    report.why_not_bf16.clear();
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory to compare bf16 with fp32: ", error.status().message()));
  } else if (report.why_not_bf16.empty()) {  // how far off it was tells more
    report.why_not_bf16 =
        absl::StrCat("forward() fails, ", error.status().message());
  }
  return absl::InternalError(report.why_not_bf16);
}

bool MayComputeParts(const ModelOptions& options, const LoadReport& report) {
  return options.batching == Batching::kAcrossRequests ||
         report.has_independent_rows;
}

void CheckRows(NetworkProbe& probe, Network& network, Precision precision,
               ModelOptions& options, LoadReport& report) {
  absl::StatusOr<RowsFound> found = probe.CompareRows(network, precision);
  std::string why_unknown;
  if (!found.ok()) {
    why_unknown = std::string(found.status().message());
    found = RowsFound{.why_unsure = why_unknown};
  }
  report.has_independent_rows =
      found->mixed_output.empty() && found->why_unsure.empty();
  report.why_not_independent =
      found->mixed_output.empty()
          ? found->why_unsure
          : absl::StrCat("in output '", found->mixed_output,
                         "' a row alone is not what it is beside others");
  report.why_no_full_batch = found->why_not_full;
  if (options.batching != Batching::kAcrossRequests &&
      options.buckets.empty()) {
    return;
  }
  report.why_rows_unknown = why_unknown;
  if (found->mixed_output.empty() && found->integers_differ) {
    report.why_rows_unsure = found->why_unsure;
  }
  if (!found->mixed_output.empty()) {
    report.mixed_output = found->mixed_output;
    options.batching = Batching::kOwnRowsOnly;
    options.buckets.clear();
  }
}

}  // namespace ferry
