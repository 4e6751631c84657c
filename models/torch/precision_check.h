// CheckPrecision decides whether a network in bf16 is near enough to itself in
// fp32 to serve.
//
// Thread safety: free functions.
#ifndef FERRY_MODELS_TORCH_PRECISION_CHECK_H_
#define FERRY_MODELS_TORCH_PRECISION_CHECK_H_

#include "absl/status/status.h"
#include "models/config/model_options.h"
#include "models/load_report.h"
#include "models/torch/network.h"
#include "models/torch/network_probe.h"

namespace ferry {

// Compares `network`, which computes as `options` say, on `device`, with what
// the network in fp32 gave to `in_fp32`. Writes the error into the report;
// where it is above options.precision_tolerance or the network fails, INTERNAL
// with report.why_not_bf16; RESOURCE_EXHAUSTED where there is no memory for it.
// REQUIRES: in_fp32.has_run().
absl::Status CheckPrecision(const NetworkProbe& in_fp32, Network& network,
                            at::Device device, const ModelOptions& options,
                            LoadReport& report);

// Whether a batch may be computed in parts, by what is known of its rows: as a
// request may be split (models/repository/model_loader.cc).
bool MayComputeParts(const ModelOptions& options, const LoadReport& report);

// Looks whether rows come out of `network` alone as beside each other, for the
// report. Where they do not, and the model batches across requests or is padded
// to buckets, the requests have batches of their own, which are not padded: the
// options and the report then say so.
void CheckRows(NetworkProbe& probe, Network& network, Precision precision,
               ModelOptions& options, LoadReport& report);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_PRECISION_CHECK_H_
