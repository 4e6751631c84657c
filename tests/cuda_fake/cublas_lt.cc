// This library is a libcublasLt.so.13 of products with a bias and a ReLU. The
// rest is a stub that make_stubs.py writes.
#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>
#include <cstring>

#include "tests/cuda_fake/fake_gemm.h"

namespace {

using ferry::cuda_fake::Gemm;
using ferry::cuda_fake::kNotSupported;
using ferry::cuda_fake::kOk;
using ferry::cuda_fake::Matrix;
using ferry::cuda_fake::Scalar;

// cublasLtMatmulDescAttributes_t, as far as it counts here.
enum DescAttribute {
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogue = 7,
  kBias = 8,
  kBiasType = 26
};
// cublasLtEpilogue_t
enum Epilogue : uint32_t {
  kDefault = 1,
  kRelu = 2,
  kOnlyBias = 4,
  kReluBias = 6
};
// cublasLtMatrixLayoutAttribute_t
enum LayoutAttribute { kBatches = 5, kStride = 6 };

struct Desc {
  int compute = 0;
  int32_t transpose_a = 0;
  int32_t transpose_b = 0;
  uint32_t epilogue = kDefault;
  void* bias = nullptr;
  int32_t bias_type = -1;
};

struct Layout {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0;
  uint64_t columns = 0;
  int64_t leading = 0;
  int32_t batches = 1;
  int64_t stride = 0;
};

// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

template <typename T>
void Take(T& to, const void* from, size_t bytes) {
  std::memcpy(&to, from, bytes < sizeof(T) ? bytes : sizeof(T));
}

Matrix MatrixOf(const void* data, const Layout& layout, bool is_transposed) {
  return {const_cast<void*>(data), layout.type, layout.leading, layout.stride,
          is_transposed};
}

}  // namespace

extern "C" {

int cublasLtMatmulPreferenceCreate(int** preference) {
  *preference = new int;
  return kOk;
}
int cublasLtMatmulPreferenceDestroy(int* preference) {
  delete preference;
  return kOk;
}
int cublasLtMatmulPreferenceSetAttribute(int*, int, const void*, size_t) {
  return kOk;
}

int cublasLtMatmulDescCreate(Desc** desc, int compute, int /*scale_type*/) {
  *desc = new Desc{.compute = compute};
  return kOk;
}
int cublasLtMatmulDescDestroy(Desc* desc) {
  delete desc;
  return kOk;
}
int cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value,
                                   size_t bytes) {
  switch (attribute) {
    case kTransposeA:
      Take(desc->transpose_a, value, bytes);
      break;
    case kTransposeB:
      Take(desc->transpose_b, value, bytes);
      break;
    case kEpilogue:
      Take(desc->epilogue, value, bytes);
      break;
    case kBias:
      Take(desc->bias, value, bytes);
      break;
    case kBiasType:
      Take(desc->bias_type, value, bytes);
      break;
    default:
      break;
  }
  return kOk;
}

int cublasLtMatrixLayoutCreate(Layout** layout, cudaDataType type,
                               uint64_t rows, uint64_t columns,
                               int64_t leading) {
  *layout = new Layout{type, rows, columns, leading};
  return kOk;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return kOk;
}
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute,
                                     const void* value, size_t bytes) {
  if (attribute == kBatches) {
    Take(layout->batches, value, bytes);
  } else if (attribute == kStride) {
    Take(layout->stride, value, bytes);
  }
  return kOk;
}

int cublasLtMatmulAlgoGetHeuristic(void*, Desc*, Layout*, Layout*, Layout*,
                                   Layout*, int*, int /*wanted*/,
                                   Heuristic* results, int* count) {
  results[0] = {};
  *count = 1;
  return kOk;
}

int cublasLtMatmul(void* /*handle*/, const Desc* desc, const void* alpha,
                   const void* a, const Layout* a_layout, const void* b,
                   const Layout* b_layout, const void* beta, const void* c,
                   const Layout* c_layout, void* d, const Layout* d_layout,
                   const void* /*algorithm*/, void* /*workspace*/,
                   size_t /*workspace_bytes*/, cudaStream_t stream) {
  const bool has_bias =
      desc->epilogue == kOnlyBias || desc->epilogue == kReluBias;
  if (!has_bias && desc->epilogue != kDefault && desc->epilogue != kRelu) {
    return kNotSupported;
  }
  Gemm gemm = {.rows = static_cast<int64_t>(d_layout->rows),
               .columns = static_cast<int64_t>(d_layout->columns),
               .depth = static_cast<int64_t>(
                   desc->transpose_a != 0 ? a_layout->rows : a_layout->columns),
               .batches = d_layout->batches,
               .a = MatrixOf(a, *a_layout, desc->transpose_a != 0),
               .b = MatrixOf(b, *b_layout, desc->transpose_b != 0),
               .c = MatrixOf(c, *c_layout, false),
               .d = MatrixOf(d, *d_layout, false),
               .alpha = Scalar(alpha, desc->compute),
               .beta = Scalar(beta, desc->compute)};
  gemm.has_relu = desc->epilogue == kRelu || desc->epilogue == kReluBias;
  if (has_bias) {
    gemm.bias = {.data = desc->bias,
                 .type = desc->bias_type < 0
                             ? d_layout->type
                             : static_cast<cudaDataType>(desc->bias_type)};
  }
  return PutGemm(stream, gemm);
}

}  // extern "C"
