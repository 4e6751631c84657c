// FusedLinear and FusedConv cast and lay out their weights once, for the matrix
// kernels that serve; those of a device are cast on the processor, whose memory
// they are in, and moved then.
//
// A layer's weights are reordered at construction into the layout that oneDNN's
// kernels read fastest, and the activation and the residual sum are fused into
// them. Where the processor lacks the kernels, and for weights on a device, the
// plain operators run; answers differ within rounding only.
//
// Small layers in bf16 go another way yet (networks/brgemm_linear.h).
//
// What it is worth for an mlp 1024-4096-4096-1024 on one core with AMX, against
// the plain operators: bf16 3.3 ms for 4.3 at 1 row, 3.2 for 5.5 at 16, 7.3 for
// 8.0 at 64; fp32 10.6 for 8.1 at 1 row, 13.6 for 28 at 8, 43 for 52 at 64.
//
// Thread safety: constant after construction; operator() from several threads.
// Errors: throws what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_NETWORKS_FUSED_OPS_H_
#define FERRY_MODELS_TORCH_NETWORKS_FUSED_OPS_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>

#include "models/config/model_options.h"
#include "models/torch/networks/brgemm_linear.h"
#include "models/torch/networks/onednn_ops.h"

namespace ferry {

enum class Activation : uint8_t { kNone, kRelu, kGelu };

// Returns `x` after the activation; gelu is the exact one (by erf).
at::Tensor Activate(const at::Tensor& x, Activation activation);

// Returns the weights cast, and then on the device.
at::Tensor PlaceWeights(const at::Tensor& weights, at::ScalarType type,
                        at::Device device);

// y = activation(x w' + b [+ residual]).
class FusedLinear {
 public:
  struct Options {
    Precision precision = Precision::kBf16;
    at::Device device = at::kCPU;
    int64_t rows_hint = 1;  // rows of x in a large batch
  };

  // `weight` [outputs, inputs] and `bias` [outputs] or none, in fp32.
  FusedLinear(const at::Tensor& weight, const at::Tensor& bias,
              const Options& options);

  at::Tensor operator()(const at::Tensor& x, Activation activation) const;

  // Without an activation, `residual` [.., outputs] added.
  at::Tensor Add(const at::Tensor& x, const at::Tensor& residual) const;

  // Whether the reordered weights serve.
  bool is_packed() const { return packed_.defined(); }

  // Returns with how many rows, `rows` or a few more, it takes the least time.
  int64_t FastRows(int64_t rows) const;

 private:
  at::Tensor weight_;  // undefined where packed
  at::Tensor packed_;
  at::Tensor bias_;
  std::optional<BrgemmLinear> small_;
};

// y = activation(conv(x, w) + b [+ residual]), images in channels-last.
class FusedConv {
 public:
  struct Options {
    onednn::ConvArguments arguments;
    Precision precision = Precision::kBf16;
    at::Device device = at::kCPU;
    // [rows, inputs, height, width] of a large batch.
    std::array<int64_t, 4> input_size = {};
  };

  // `weight` [outputs, inputs, height, width] and `bias` [outputs], in fp32,
  // with the normalization that follows already folded in.
  FusedConv(const at::Tensor& weight, const at::Tensor& bias,
            const Options& options);

  at::Tensor operator()(const at::Tensor& x, Activation activation) const;

  // relu(conv(x, w) + b + residual).
  at::Tensor AddRelu(const at::Tensor& x, const at::Tensor& residual) const;

  bool is_packed() const { return packed_.defined(); }

 private:
  at::Tensor Plain(const at::Tensor& x) const;

  const onednn::ConvArguments arguments_;
  at::Tensor weight_;  // undefined where packed
  at::Tensor packed_;
  at::Tensor bias_;
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_FUSED_OPS_H_
