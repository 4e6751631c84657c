// Implements FusedLinear and FusedConv, packed where the processor has kernels.
#include "models/torch/networks/fused_ops.h"

#include <ATen/Functions.h>

#include "models/torch/networks/onednn_ops.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

const char* Attribute(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return "relu";
    case Activation::kGelu:
      return "gelu";
    default:
      return "none";
  }
}

}  // namespace

at::Tensor Activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kGelu:
      return at::gelu(x);
    default:
      return x;
  }
}

at::Tensor PlaceWeights(const at::Tensor& weights, at::ScalarType type,
                        at::Device device) {
  return weights.to(type).contiguous().to(device);
}

FusedLinear::FusedLinear(const at::Tensor& weight, const at::Tensor& bias,
                         const Options& options)
    : weight_(PlaceWeights(weight, ToScalarType(options.precision),
                           options.device)) {
  if (bias.defined()) {
    bias_ = PlaceWeights(bias, ToScalarType(options.precision), options.device);
  }
  if (weight_.is_cpu() && onednn::HasMatrixKernels()) {
    if (options.precision == Precision::kBf16 && BrgemmLinear::Suits(weight_)) {
      small_.emplace(weight_, bias);
    }
    packed_ = onednn::PackLinear(weight_, options.rows_hint);
    weight_.reset();
  }
}

at::Tensor FusedLinear::operator()(const at::Tensor& x,
                                   Activation activation) const {
  if (small_.has_value() && activation != Activation::kGelu &&
      small_->Takes(x)) {
    return small_->Run(x, activation == Activation::kRelu);
  }
  if (is_packed()) {
    return onednn::Linear(x, packed_, bias_, Attribute(activation));
  }
  return Activate(at::linear(x, weight_, bias_), activation);
}

int64_t FusedLinear::FastRows(int64_t rows) const {
  return is_packed() && !small_.has_value() &&
                 packed_.scalar_type() == at::kBFloat16
             ? onednn::FastRows(rows)
             : rows;
}

at::Tensor FusedLinear::Add(const at::Tensor& x,
                            const at::Tensor& residual) const {
  if (is_packed()) {
    return onednn::LinearAdd(x, residual, packed_, bias_);
  }
  return at::linear(x, weight_, bias_).add_(residual);
}

FusedConv::FusedConv(const at::Tensor& weight, const at::Tensor& bias,
                     const Options& options)
    : arguments_(options.arguments),
      weight_(weight.to(ToScalarType(options.precision))
                  .contiguous(at::MemoryFormat::ChannelsLast)
                  .to(options.device)),
      bias_(
          PlaceWeights(bias, ToScalarType(options.precision), options.device)) {
  if (weight_.is_cpu() && onednn::HasMatrixKernels()) {
    packed_ = onednn::PackConv(weight_, arguments_, options.input_size);
    weight_.reset();
  }
}

at::Tensor FusedConv::Plain(const at::Tensor& x) const {
  return at::conv2d(x, weight_, bias_, arguments_.stride, arguments_.padding,
                    arguments_.dilation, arguments_.groups);
}

at::Tensor FusedConv::operator()(const at::Tensor& x,
                                 Activation activation) const {
  if (!is_packed()) {
    return Activate(Plain(x), activation);
  }
  return onednn::Conv(x, {packed_, bias_}, arguments_, Attribute(activation));
}

at::Tensor FusedConv::AddRelu(const at::Tensor& x,
                              const at::Tensor& residual) const {
  if (!is_packed()) {
    return Plain(x).add_(residual).relu_();
  }
  return onednn::ConvAddRelu(x, residual, {packed_, bias_}, arguments_);
}

}  // namespace ferry
