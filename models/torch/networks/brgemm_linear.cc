// Implements BrgemmLinear: packs the panels, and loops over tiles of sums.
#include "models/torch/networks/brgemm_linear.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>

#include "models/torch/cast.h"
#include "models/torch/networks/onednn_ops.h"

namespace ferry {
namespace {

namespace blas = at::native::cpublas;

// Outputs of a panel: whole vectors of sums, as wide as a tile of AMX.
constexpr int64_t kWidthStep = 16;
constexpr int64_t kMaxWidth = 64;
// A tile of sums: two tiles of AMX by two.
constexpr int64_t kTileRows = 32;
// By measurement; 512 x 512.
constexpr int64_t kMaxWeights = 256 << 10;
// Multiplications up to which one thread is as fast as two in an operator, by
// measurement: 16 rows of 256 x 512.
constexpr int64_t kMaxOnOneThread = 2 << 20;

// The kernels leave the thread's matrix tiles set up for the next call of one;
// operators set them up anew and do not tell.
struct TilesInUse {
  TilesInUse() = default;
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
  ~TilesInUse() { blas::brgemm_release(); }
};

struct Tile {
  const float* sums;  // [rows, width]
  const float* bias;  // [columns]
  int64_t width;
  int64_t rows;
  int64_t columns;  // <= width
};

// Whether the kernel gives 1 * 3 + 2 * 5 for each output. Nothing tells whether
// it is there (could_pack() speaks of AMX only): LibTorch throws where it lacks
// it or oneDNN is switched off, oneDNN where it has none for this processor.
bool RunsKernel() {
  const TilesInUse tiles;
  const std::array<c10::BFloat16, 2> row = {1.0F, 2.0F};
  std::array<c10::BFloat16, 2 * kWidthStep> panel;
  for (size_t i = 0; i < panel.size(); ++i) {
    panel[i] = i % 2 == 0 ? 3.0F : 5.0F;
  }
  std::array<float, kWidthStep> sums = {};
  try {
    blas::brgemm(/*M=*/1, /*N=*/kWidthStep, /*K=*/2, /*ld_a=*/2,
                 /*ld_b=*/kWidthStep, /*ld_c=*/kWidthStep, /*add_C=*/false,
                 row.data(), panel.data(), sums.data());
  } catch (const std::exception&) {
    return false;
  }
  return std::ranges::all_of(sums, [](float sum) { return sum == 13; });
}

bool HasKernel() {
  static const bool has_kernel = onednn::HasMatrixKernels() && RunsKernel();
  return has_kernel;
}

// Compiled for wider vectors as well: the loader takes what the processor has.
__attribute__((target_clones("avx512f", "default"))) void Finish(
    const Tile& tile, bool relu, c10::BFloat16* out, int64_t stride) {
  const float floor = relu ? 0 : -std::numeric_limits<float>::infinity();
  for (int64_t row = 0; row < tile.rows; ++row) {
    const float* const sums = tile.sums + row * tile.width;
    c10::BFloat16* const to = out + row * stride;
    for (int64_t i = 0; i < tile.columns; ++i) {
      to[i].x = ToBf16(std::max(sums[i] + tile.bias[i], floor));
    }
  }
}

}  // namespace

bool BrgemmLinear::Suits(const at::Tensor& weight) {
  return weight.numel() > 0 && weight.numel() <= kMaxWeights &&
         weight.size(1) % 2 == 0 && HasKernel();
}

BrgemmLinear::BrgemmLinear(const at::Tensor& weight, const at::Tensor& bias)
    : inputs_(weight.size(1)), outputs_(weight.size(0)) {
  const int64_t padded = (outputs_ + kWidthStep - 1) / kWidthStep * kWidthStep;
  bias_ = at::zeros({padded}, at::kFloat);
  if (bias.defined()) {
    bias_.narrow(0, 0, outputs_).copy_(bias);
  }
  at::Tensor columns = at::zeros({inputs_, padded}, at::kBFloat16);
  columns.narrow(1, 0, outputs_).copy_(weight.t());
  const at::Tensor pairs = columns.view({inputs_ / 2, 2, padded});
  for (int64_t first = 0; first < padded; first += kMaxWidth) {
    const int64_t width = std::min(kMaxWidth, padded - first);
    panels_.push_back(
        {first, width,
         pairs.narrow(2, first, width).transpose(1, 2).contiguous()});
  }
}

bool BrgemmLinear::Takes(const at::Tensor& x) const {
  return x.scalar_type() == at::kBFloat16 && x.is_contiguous() &&
         x.dim() >= 1 && x.size(-1) == inputs_ &&
         x.numel() <= kMaxRows * inputs_ &&
         (at::get_num_threads() == 1 ||
          x.numel() * outputs_ <= kMaxOnOneThread);
}

at::Tensor BrgemmLinear::Run(const at::Tensor& x, bool relu) const {
  at::DimVector sizes(x.sizes());
  sizes.back() = outputs_;
  at::Tensor y = at::empty(sizes, x.options());
  const int64_t rows = x.numel() / inputs_;
  const auto* const from = x.const_data_ptr<c10::BFloat16>();
  auto* const to = y.mutable_data_ptr<c10::BFloat16>();
  const float* const bias = bias_.const_data_ptr<float>();
  const TilesInUse tiles;
  alignas(64) std::array<float, kTileRows * kMaxWidth> sums;
  for (const Panel& panel : panels_) {
    const auto* const weight = panel.weight.const_data_ptr<c10::BFloat16>();
    for (int64_t row = 0; row < rows; row += kTileRows) {
      const Tile tile = {
          .sums = sums.data(),
          .bias = bias + panel.first,
          .width = panel.width,
          .rows = std::min(kTileRows, rows - row),
          .columns = std::min(panel.width, outputs_ - panel.first)};
      blas::brgemm(tile.rows, panel.width, inputs_, inputs_, panel.width,
                   panel.width, /*add_C=*/false, from + row * inputs_, weight,
                   sums.data());
      Finish(tile, relu, to + row * outputs_ + panel.first, outputs_);
    }
  }
  return y;
}

}  // namespace ferry
