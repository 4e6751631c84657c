// Implements ResNet50Module, the parameters, and the network that serves them.
#include "models/torch/networks/resnet50.h"

#include <ATen/Functions.h>

#include <optional>

#include "models/torch/networks/fused_ops.h"

namespace ferry {
namespace {

constexpr int64_t kClasses = 1000;
constexpr int64_t kExpansion = 4;  // outputs of a bottleneck, over its width
constexpr int64_t kFeatures = 512 * kExpansion;
constexpr int64_t kImageSize = 224;

torch::nn::Conv2d Conv(int64_t inputs, int64_t outputs, int64_t size,
                       int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(inputs, outputs, size)
                               .stride(stride)
                               .padding(size / 2)
                               .bias(false));
}

torch::nn::Sequential Stage(int64_t inputs, int64_t width, int64_t blocks,
                            int64_t stride) {
  torch::nn::Sequential stage;
  for (int64_t i = 0; i < blocks; ++i) {
    stage->push_back(BottleneckModule(i == 0 ? inputs : width * kExpansion,
                                      width, i == 0 ? stride : 1));
  }
  return stage;
}

// Compiles convolution and normalization pairs, following the image's size.
class Compiler {
 public:
  Compiler(const ModelOptions& options, at::Device device)
      : options_(options), device_(device) {}

  // Returns the pair as one convolution of images of `size` squared.
  FusedConv Fold(const torch::nn::Conv2dImpl& conv,
                 const torch::nn::BatchNorm2dImpl& norm, int64_t size) const {
    const at::Tensor scale =
        norm.weight / at::sqrt(norm.running_var + norm.options.eps());
    const int64_t stride = conv.options.stride()->front();
    const int64_t padding = conv.weight.size(2) / 2;
    FusedConv::Options options;
    options.arguments.padding = {padding, padding};
    options.arguments.stride = {stride, stride};
    options.precision = options_.precision;
    options.device = device_;
    options.input_size = {std::max(options_.spec.max_batch_size, 1),
                          conv.weight.size(1), size, size};
    return FusedConv(conv.weight * scale.reshape({-1, 1, 1, 1}),
                     norm.bias - norm.running_mean * scale, options);
  }

 private:
  const ModelOptions& options_;
  const at::Device device_;
};

class Bottleneck {
 public:
  Bottleneck(const BottleneckModule& module, const Compiler& compiler,
             int64_t size)
      : conv1_(compiler.Fold(*module.conv1, *module.bn1, size)),
        conv2_(compiler.Fold(*module.conv2, *module.bn2, size)),
        conv3_(compiler.Fold(*module.conv3, *module.bn3,
                             size / module.conv2->options.stride()->front())) {
    if (!module.downsample.is_empty()) {
      const auto& shortcut = *module.downsample;
      shortcut_.emplace(
          compiler.Fold(*shortcut.ptr(0)->as<torch::nn::Conv2d>(),
                        *shortcut.ptr(1)->as<torch::nn::BatchNorm2d>(), size));
    }
  }

  at::Tensor operator()(const at::Tensor& x) const {
    const at::Tensor shortcut =
        shortcut_.has_value() ? (*shortcut_)(x, Activation::kNone) : x;
    return conv3_.AddRelu(
        conv2_(conv1_(x, Activation::kRelu), Activation::kRelu), shortcut);
  }

 private:
  const FusedConv conv1_;
  const FusedConv conv2_;
  const FusedConv conv3_;
  std::optional<FusedConv> shortcut_;
};

class ResNet50Network final : public Network {
 public:
  ResNet50Network(const ResNet50Module& module, const ModelOptions& options,
                  at::Device device)
      : conv_(Compiler(options, device)
                  .Fold(*module.conv1, *module.bn1, kImageSize)),
        fc_(module.fc->weight, module.fc->bias,
            {.precision = options.precision,
             .device = device,
             .rows_hint = std::max(options.spec.max_batch_size, 1)}) {
    const Compiler compiler(options, device);
    int64_t size = kImageSize / 4;
    for (const torch::nn::Sequential* stage :
         {&module.layer1, &module.layer2, &module.layer3, &module.layer4}) {
      for (size_t i = 0; i < (*stage)->size(); ++i) {
        const auto& block = *(*stage)->ptr(i)->as<BottleneckModule>();
        blocks_.emplace_back(block, compiler, size);
        size /= block.conv2->options.stride()->front();
      }
    }
  }

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    at::Tensor x =
        inputs[0].toTensor().contiguous(at::MemoryFormat::ChannelsLast);
    x = conv_(x, Activation::kRelu);
    x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
    for (const Bottleneck& block : blocks_) {
      x = block(x);
    }
    x = at::adaptive_avg_pool2d(x, {1, 1}).flatten(1).contiguous();
    outputs.push_back(fc_(x, Activation::kNone));
    return absl::OkStatus();
  }

  bool takes_channels_last(size_t /*input*/) const override { return true; }

 private:
  const FusedConv conv_;
  std::vector<Bottleneck> blocks_;
  const FusedLinear fc_;
};

}  // namespace

BottleneckModule::BottleneckModule(int64_t inputs, int64_t width,
                                   int64_t stride)
    : conv1(Conv(inputs, width, 1, 1)),
      conv2(Conv(width, width, 3, stride)),
      conv3(Conv(width, width * kExpansion, 1, 1)),
      bn1(width),
      bn2(width),
      bn3(width * kExpansion),
      downsample(nullptr) {
  register_module("conv1", conv1);
  register_module("bn1", bn1);
  register_module("conv2", conv2);
  register_module("bn2", bn2);
  register_module("conv3", conv3);
  register_module("bn3", bn3);
  if (stride != 1 || inputs != width * kExpansion) {
    downsample =
        torch::nn::Sequential(Conv(inputs, width * kExpansion, 1, stride),
                              torch::nn::BatchNorm2d(width * kExpansion));
    register_module("downsample", downsample);
  }
}

at::Tensor BottleneckModule::forward(const at::Tensor& x) {
  const at::Tensor shortcut =
      downsample.is_empty() ? x : downsample->forward(x);
  at::Tensor y = at::relu(bn1(conv1(x)));
  y = at::relu(bn2(conv2(y)));
  return at::relu(bn3(conv3(y)) + shortcut);
}

ResNet50Module::ResNet50Module()
    : conv1(
          torch::nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)),
      bn1(64),
      layer1(Stage(64, 64, 3, 1)),
      layer2(Stage(64 * kExpansion, 128, 4, 2)),
      layer3(Stage(128 * kExpansion, 256, 6, 2)),
      layer4(Stage(256 * kExpansion, 512, 3, 2)),
      fc(kFeatures, kClasses) {
  register_module("conv1", conv1);
  register_module("bn1", bn1);
  register_module("layer1", layer1);
  register_module("layer2", layer2);
  register_module("layer3", layer3);
  register_module("layer4", layer4);
  register_module("fc", fc);
}

at::Tensor ResNet50Module::forward(at::Tensor x) {
  x = at::relu(bn1(conv1(x)));
  x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
  x = layer4->forward(layer3->forward(layer2->forward(layer1->forward(x))));
  return fc(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
}

std::unique_ptr<Network> CompileResNet50(const ResNet50Module& module,
                                         const ModelOptions& options,
                                         at::Device device) {
  return std::make_unique<ResNet50Network>(module, options, device);
}

}  // namespace ferry
