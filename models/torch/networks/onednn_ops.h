// Linear, Conv and others call LibTorch's oneDNN operators: these have no
// header.
//
// The operators are those that torch.compile emits; their schemas are checked
// when a handle is made, so another LibTorch fails at load, not in a batch.
//
// Thread safety: thread-safe.
// Errors: throws c10::Error where the operator or its schema is missing.
#ifndef FERRY_MODELS_TORCH_NETWORKS_ONEDNN_OPS_H_
#define FERRY_MODELS_TORCH_NETWORKS_ONEDNN_OPS_H_

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>

namespace ferry::onednn {

using OptionalTensor = std::optional<at::Tensor>;

// Returns whether this processor has the kernels, for bf16 as for fp32, that
// are worth reordering for.
bool HasMatrixKernels();

// Returns the weight [outputs, inputs] in the layout for about `rows` rows.
at::Tensor PackLinear(const at::Tensor& weight, int64_t rows);

// `attribute`: "none", "relu" or "gelu".
at::Tensor Linear(const at::Tensor& x, const at::Tensor& packed,
                  const OptionalTensor& bias, const char* attribute);

// linear(x) + other.
at::Tensor LinearAdd(const at::Tensor& x, const at::Tensor& other,
                     const at::Tensor& packed, const OptionalTensor& bias);

// Returns with how many rows, `rows` or a few more, Linear() in bf16 takes the
// least time. With AMX oneDNN computes blocks of rows that divide them, so that
// of 17 to 63 rows those that few numbers divide are slow: through the mlp
// 1024-4096-4096-1024 62 rows take 1.3 times as long as 64.
int64_t FastRows(int64_t rows);

struct ConvArguments {
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
};

at::Tensor PackConv(const at::Tensor& weight, const ConvArguments& arguments,
                    at::IntArrayRef input_size);

struct PackedWeights {
  const at::Tensor& packed;
  const OptionalTensor& bias;
};

// `attribute`: as of Linear().
at::Tensor Conv(const at::Tensor& x, const PackedWeights& weights,
                const ConvArguments& arguments, const char* attribute);

// relu(conv(x) + other).
at::Tensor ConvAddRelu(const at::Tensor& x, const at::Tensor& other,
                       const PackedWeights& weights,
                       const ConvArguments& arguments);

}  // namespace ferry::onednn

#endif  // FERRY_MODELS_TORCH_NETWORKS_ONEDNN_OPS_H_
