// PutGemm() puts a product of matrices on a stream of the fake device: D = act(
// alpha A B + beta C + bias), by columns, as cuBLAS has it. The fakes of both
// of its libraries call it.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_CUDA_FAKE_FAKE_GEMM_H_
#define FERRY_TESTS_CUDA_FAKE_FAKE_GEMM_H_

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>

namespace ferry::cuda_fake {

struct Matrix {
  void* data = nullptr;  // of the device
  cudaDataType type = CUDA_R_32F;
  int64_t leading = 0;
  int64_t stride = 0;  // between batches, in elements
  bool is_transposed = false;
};

struct Gemm {
  int64_t rows = 0;     // of D
  int64_t columns = 0;  // of D
  int64_t depth = 0;
  int64_t batches = 1;
  Matrix a, b, c, d;
  double alpha = 1;
  double beta = 0;
  Matrix bias = {};  // of one column; no data: none
  bool has_relu = false;
};

// cublasStatus_t, as far as these are given.
enum CublasStatus : int { kOk = 0, kExecutionFailed = 13, kNotSupported = 15 };

// kNotSupported for types other than floats of 16, 32 and 64 bits.
CublasStatus PutGemm(cudaStream_t stream, const Gemm& gemm);

// Reads alpha or beta on the host, by the type that is computed in.
double Scalar(const void* at, int compute_type);

}  // namespace ferry::cuda_fake

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_GEMM_H_
