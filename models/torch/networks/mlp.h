// MlpModule is a perceptron: linear layers of given widths with ReLU between.
//
// Parameters: "layers.<i>.weight" [width i+1, width i] and "layers.<i>.bias".
//
// Thread safety: MlpModule is thread-compatible; see Network for the rest.
#ifndef FERRY_MODELS_TORCH_NETWORKS_MLP_H_
#define FERRY_MODELS_TORCH_NETWORKS_MLP_H_

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>

#include <memory>
#include <vector>

#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

// The parameters, in fp32, and the plain forward that the served one is
// compared with.
class MlpModule : public torch::nn::Module {
 public:
  // REQUIRES: widths has two or more positive entries.
  explicit MlpModule(const std::vector<int64_t>& widths);

  // [rows, widths.front()] -> [rows, widths.back()].
  at::Tensor forward(at::Tensor x);

  torch::nn::ModuleList layers;
};

// The network that serves on `device`: "input" to "output".
std::unique_ptr<Network> CompileMlp(const MlpModule& module,
                                    const ModelOptions& options,
                                    at::Device device);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_MLP_H_
