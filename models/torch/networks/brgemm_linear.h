// BrgemmLinear computes a linear layer so small that calling an operator costs
// more than the arithmetic.
//
// An operator of LibTorch takes 20 to 40 us of dispatch, descriptors and
// allocations a layer; oneDNN's batch-reduce kernel (brgemm), which LibTorch
// exports for the code that torch.compile generates, takes none of them. The
// weights are cut into panels of 64 outputs, each contiguous in the kernel's
// own layout; bias, activation and the rounding to bf16 follow while a tile of
// sums is in the first-level cache.
//
// What it is worth for an mlp 256-512-10 on one core, both layers, against
// oneDNN's packed operator: with AMX 17 us for 79 at 1 row, 18 for 82 at 8, 62
// for 110 at 64; with avx512_bf16 alone 5 for 17, 13 for 24, 85 for 93. With
// AMX the operator is the faster one at 1024 x 1024 from 32 rows on.
//
// Thread safety: constant after construction; Run() from several threads. A
// thread's first Run() of a number of rows compiles a kernel.
// Errors: throws what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_NETWORKS_BRGEMM_LINEAR_H_
#define FERRY_MODELS_TORCH_NETWORKS_BRGEMM_LINEAR_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace ferry {

class BrgemmLinear {
 public:
  // More rows than that are better served by an operator.
  static constexpr int64_t kMaxRows = 128;

  // Whether this processor has the kernel, and the layer is so small that it is
  // the faster one. `weight`: [outputs, inputs].
  static bool Suits(const at::Tensor& weight);

  // `weight` [outputs, inputs] in bf16, which Suits(); `bias` [outputs] of any
  // float type, or undefined.
  BrgemmLinear(const at::Tensor& weight, const at::Tensor& bias);

  // Whether Run() takes it: bf16, contiguous, [..., inputs], at most kMaxRows
  // rows, and fewer where an operator would share them among several threads of
  // LibTorch's.
  bool Takes(const at::Tensor& x) const;

  // Returns x w' + b, or where `relu` max(0, x w' + b), in bf16.
  // `x`: [..., inputs]. REQUIRES: Takes(x).
  at::Tensor Run(const at::Tensor& x, bool relu) const;

 private:
  struct Panel {
    int64_t first = 0;  // output
    int64_t width = 0;  // a multiple of 16; outputs past the last are zeros
    at::Tensor weight;  // [inputs / 2, width, 2]: pairs of inputs are next
                        // to each other, as one multiply-add takes them
  };

  int64_t inputs_;
  int64_t outputs_;
  std::vector<Panel> panels_;
  at::Tensor bias_;  // fp32, as long as all panels
};

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_NETWORKS_BRGEMM_LINEAR_H_
