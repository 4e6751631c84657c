// MakeNetwork makes the networks written in C++: "mlp", "resnet50", "encoder".
//
// Without a weights file the weights are drawn from a fixed seed, so that every
// process serves the same network.
//
// Thread safety: free function; draws from LibTorch's global generator.
#ifndef FERRY_MODELS_TORCH_NETWORKS_NETWORK_FACTORY_H_
#define FERRY_MODELS_TORCH_NETWORKS_NETWORK_FACTORY_H_

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

// Returns the compiled network options.network, with its weights on `device`.
// `weights_path` is empty for seeded weights. INVALID_ARGUMENT where
// options.spec is not the network's, with every name, type and shape that is
// expected; errors of LoadWeights.
absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(
    const ModelOptions& options, const std::string& weights_path,
    at::Device device);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_NETWORK_FACTORY_H_
