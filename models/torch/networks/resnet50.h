// ResNet50Module is ResNet-50, a bottleneck network: 224 x 224 in, 1000
// classes.
//
// Parameters have the names of the usual published weights ("conv1.weight",
// "layer1.0.bn2.running_mean", "layer2.0.downsample.0.weight", "fc.bias"):
// 25,557,032 of them. Normalization uses the stored statistics, folded into
// the convolutions when the network is compiled.
//
// Thread safety: ResNet50Module is thread-compatible; see Network for the rest.
#ifndef FERRY_MODELS_TORCH_NETWORKS_RESNET50_H_
#define FERRY_MODELS_TORCH_NETWORKS_RESNET50_H_

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <memory>

#include "models/config/model_options.h"
#include "models/torch/network.h"

namespace ferry {

// 1 x 1, 3 x 3, 1 x 1 convolutions beside a shortcut.
class BottleneckModule : public torch::nn::Module {
 public:
  BottleneckModule(int64_t inputs, int64_t width, int64_t stride);

  at::Tensor forward(const at::Tensor& x);

  torch::nn::Conv2d conv1, conv2, conv3;
  torch::nn::BatchNorm2d bn1, bn2, bn3;
  torch::nn::Sequential downsample;  // null where the shortcut is the input
};

class ResNet50Module : public torch::nn::Module {
 public:
  ResNet50Module();

  // [rows, 3, 224, 224] -> [rows, 1000].
  at::Tensor forward(at::Tensor x);

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Sequential layer1, layer2, layer3, layer4;
  torch::nn::Linear fc;
};

// The network that serves on `device`: "input" to "output".
std::unique_ptr<Network> CompileResNet50(const ResNet50Module& module,
                                         const ModelOptions& options,
                                         at::Device device);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_RESNET50_H_
