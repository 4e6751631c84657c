// Implements MlpModule, the parameters, and the network that serves them.
#include "models/torch/networks/mlp.h"

#include <ATen/Functions.h>
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
    const at::Tensor& given = inputs[0].toTensor();
    at::Tensor x = WithFastRows(given);
    const bool has_more = x.sizes() != given.sizes();
    for (size_t i = 0; i + 1 < layers_.size(); ++i) {
      x = layers_[i](x, Activation::kRelu);
    }
    x = layers_.back()(x, Activation::kNone);
    outputs.push_back(has_more ? x.narrow(0, 0, given.size(0)) : x);
    return absl::OkStatus();
  }

 private:
  // The same rows, and rows of zeros with which the layers are faster.
  at::Tensor WithFastRows(const at::Tensor& x) const {
    const int64_t rows = x.size(0);
    int64_t fast_rows = rows;
    for (const FusedLinear& layer : layers_) {
      fast_rows = std::max(fast_rows, layer.FastRows(rows));
    }
    return fast_rows == rows
               ? x
               : at::constant_pad_nd(x, {0, 0, 0, fast_rows - rows});
  }

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
                                    const ModelOptions& options,
                                    at::Device device) {
  std::vector<FusedLinear> layers;
  for (const auto& layer : *module.layers) {
    const auto* linear = layer->as<torch::nn::Linear>();
    layers.emplace_back(
        linear->weight, linear->bias,
        FusedLinear::Options{
            .precision = options.precision,
            .device = device,
            .rows_hint = std::max(options.spec.max_batch_size, 1)});
  }
  return std::make_unique<MlpNetwork>(std::move(layers));
}

}  // namespace ferry
