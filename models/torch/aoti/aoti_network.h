// LoadAotiNetwork loads AOTInductor packages (.pt2 files) as networks.
//
// A model has one package for all sizes of a batch, or with buckets some that
// were compiled for one bucket each. Inputs and outputs of the config are those
// of forward() by name or in order (models/torch/tensor_places.h). What a
// package was not compiled for is refused before its code sees it.
//
// Thread safety: free function; each instance has an instance of the code in
// the network, and all share the weights.
#ifndef FERRY_MODELS_TORCH_AOTI_AOTI_NETWORK_H_
#define FERRY_MODELS_TORCH_AOTI_AOTI_NETWORK_H_

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

// Loads for `device` the package at `path`, "<name>.pt2", and of each bucket of
// N rows that of "<name>_bN.pt2" where there is one. NOT_FOUND where a batch
// would have no package; INVALID_ARGUMENT where a file is no package or does
// not fit the spec; FAILED_PRECONDITION where it was compiled for another
// processor or device.
absl::StatusOr<std::unique_ptr<Network>> LoadAotiNetwork(
    const ModelOptions& options, const std::string& path, at::Device device,
    const std::string& architecture = "");

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_AOTI_NETWORK_H_
