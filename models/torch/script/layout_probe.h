// CompareLayouts runs probe forwards of a network in two layouts of memory, and
// says whether both give the same.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_TORCH_SCRIPT_LAYOUT_PROBE_H_
#define FERRY_MODELS_TORCH_SCRIPT_LAYOUT_PROBE_H_

#include <c10/core/Device.h>

#include <string>

#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

// Runs both with synthetic rows, on as many threads as instances have, which
// the calling thread keeps, and returns how `laid_out` fails or
// differs from `plain`, or why that cannot be seen, or nothing.
std::string CompareLayouts(Network& plain, Network& laid_out,
                           const ModelOptions& options, at::Device device);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_LAYOUT_PROBE_H_
