// The perceptron as parameters and as the network that serves.
#include "models/torch/networks/mlp.h"

#include <torch/nn/modules/linear.h>

#include <algorithm>

#include "models/torch/networks/fused_ops.h"

namespace ferry {
namespace {

class MlpNetwork final : public Network {
 public:
  explicit MlpNetwork(std::vector<FusedLinear> layers)
      : layers_(std::move(layers)) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    at::Tensor x = inputs[0].toTensor();
    for (size_t i = 0; i + 1 < layers_.size(); ++i) {
      x = layers_[i](x, Activation::kRelu);
    }
    outputs.push_back(layers_.back()(x, Activation::kNone));
    return absl::OkStatus();
  }

 private:
  const std::vector<FusedLinear> layers_;
};

}  // namespace

MlpModule::MlpModule(const std::vector<int64_t>& widths) {
  register_module("layers", layers);
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    layers->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
  }
}

at::Tensor MlpModule::forward(at::Tensor x) {
  for (size_t i = 0; i < layers->size(); ++i) {
    x = layers[i]->as<torch::nn::Linear>()->forward(x);
    x = i + 1 < layers->size() ? at::relu(x) : x;
  }
  return x;
}

std::unique_ptr<Network> CompileMlp(const MlpModule& module,
                                    const ModelOptions& options) {
  std::vector<FusedLinear> layers;
  for (const auto& layer : *module.layers) {
    const auto* linear = layer->as<torch::nn::Linear>();
    layers.emplace_back(linear->weight, linear->bias, options.precision,
                        std::max(options.spec.max_batch_size, 1));
  }
  return std::make_unique<MlpNetwork>(std::move(layers));
}

}  // namespace ferry
