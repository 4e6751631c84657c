// Implements PutGemm() with three loops, in fp32, or in fp64 where D is.
#include "tests/cuda_fake/fake_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/cuda_fake/fake_calls.h"
#include "tests/cuda_fake/fake_device.h"

extern "C" cudaError_t FerryFakePut(cudaStream_t stream,
                                    const ferry::cuda_fake::Work* work);
extern "C" std::byte* FerryFakeReach(const void* address, size_t bytes);

namespace ferry::cuda_fake {
namespace {

size_t SizeOf(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
      return 4;
    case CUDA_R_64F:
      return 8;
    default:
      return 0;
  }
}

double Load(const std::byte* at, cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return __half2float(*reinterpret_cast<const __half*>(at));
    case CUDA_R_16BF:
      return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(at));
    case CUDA_R_32F:
      return *reinterpret_cast<const float*>(at);
    default:
      return *reinterpret_cast<const double*>(at);
  }
}

void Store(double value, std::byte* at, cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      *reinterpret_cast<__half*>(at) =
          __float2half_rn(static_cast<float>(value));
      break;
    case CUDA_R_16BF:
      *reinterpret_cast<__nv_bfloat16*>(at) =
          __float2bfloat16_rn(static_cast<float>(value));
      break;
    case CUDA_R_32F:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
      break;
    default:
      *reinterpret_cast<double*>(at) = value;
  }
}

// Where a batch's matrix of so many rows and columns, as it is stored, stands.
std::byte* Reach(const Matrix& matrix, int64_t batch, int64_t rows,
                 int64_t columns) {
  const size_t size = SizeOf(matrix.type);
  const int64_t elements =
      columns == 0 ? 0 : (columns - 1) * matrix.leading + rows;
  return FerryFakeReach(static_cast<std::byte*>(matrix.data) +
                            static_cast<size_t>(batch * matrix.stride) * size,
                        static_cast<size_t>(elements) * size);
}

// Element by element as the product takes them: rows of A, columns of B.
std::vector<float> Gathered(const std::byte* data, const Matrix& matrix,
                            int64_t outer, int64_t depth, bool by_columns) {
  std::vector<float> values(static_cast<size_t>(outer * depth));
  const size_t size = SizeOf(matrix.type);
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t at =
          by_columns ? i * matrix.leading + k : k * matrix.leading + i;
      values[static_cast<size_t>(i * depth + k)] = static_cast<float>(
          Load(data + static_cast<size_t>(at) * size, matrix.type));
    }
  }
  return values;
}

cudaError_t Run(const Gemm& gemm) {
  for (int64_t batch = 0; batch < gemm.batches; ++batch) {
    const Matrix& a = gemm.a;
    const Matrix& b = gemm.b;
    std::byte* const from_a =
        Reach(a, batch, a.is_transposed ? gemm.depth : gemm.rows,
              a.is_transposed ? gemm.rows : gemm.depth);
    std::byte* const from_b =
        Reach(b, batch, b.is_transposed ? gemm.columns : gemm.depth,
              b.is_transposed ? gemm.depth : gemm.columns);
    std::byte* const from_c =
        gemm.beta == 0 ? nullptr
                       : Reach(gemm.c, batch, gemm.rows, gemm.columns);
    std::byte* const to = Reach(gemm.d, batch, gemm.rows, gemm.columns);
    std::byte* const bias =
        gemm.bias.data == nullptr ? nullptr : Reach(gemm.bias, 0, gemm.rows, 1);
    if (from_a == nullptr || from_b == nullptr || to == nullptr ||
        (gemm.beta != 0 && from_c == nullptr) ||
        (gemm.bias.data != nullptr && bias == nullptr)) {
      LogOnce("illegal address in a product of matrices");
      return cudaErrorIllegalAddress;
    }
    const std::vector<float> rows =
        Gathered(from_a, a, gemm.rows, gemm.depth, a.is_transposed);
    const std::vector<float> columns =
        Gathered(from_b, b, gemm.columns, gemm.depth, !b.is_transposed);
    for (int64_t column = 0; column < gemm.columns; ++column) {
      for (int64_t row = 0; row < gemm.rows; ++row) {
        const float* const of_a = &rows[static_cast<size_t>(row * gemm.depth)];
        const float* const of_b =
            &columns[static_cast<size_t>(column * gemm.depth)];
        float sum = 0;
        for (int64_t k = 0; k < gemm.depth; ++k) {
          sum += of_a[k] * of_b[k];
        }
        double value = gemm.alpha * static_cast<double>(sum);
        if (from_c != nullptr) {
          value +=
              gemm.beta *
              Load(from_c + static_cast<size_t>(column * gemm.c.leading + row) *
                                SizeOf(gemm.c.type),
                   gemm.c.type);
        }
        if (bias != nullptr) {
          value +=
              Load(bias + static_cast<size_t>(row) * SizeOf(gemm.bias.type),
                   gemm.bias.type);
        }
        Store(gemm.has_relu ? std::max(value, 0.0) : value,
              to + static_cast<size_t>(column * gemm.d.leading + row) *
                       SizeOf(gemm.d.type),
              gemm.d.type);
      }
    }
  }
  return cudaSuccess;
}

}  // namespace

CublasStatus PutGemm(cudaStream_t stream, const Gemm& gemm) {
  for (const Matrix& matrix : {gemm.a, gemm.b, gemm.c, gemm.d}) {
    if (SizeOf(matrix.type) == 0) {
      return kNotSupported;
    }
  }
  const Work work = [gemm] { return Run(gemm); };
  return FerryFakePut(stream, &work) == cudaSuccess ? kOk : kExecutionFailed;
}

double Scalar(const void* at, int compute_type) {
  constexpr int kDouble = 70;  // CUBLAS_COMPUTE_64F
  return compute_type == kDouble
             ? *static_cast<const double*>(at)
             : static_cast<double>(*static_cast<const float*>(at));
}

}  // namespace ferry::cuda_fake
