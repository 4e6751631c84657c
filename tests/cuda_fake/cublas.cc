// This library is a libcublas.so.13 of products alone. The rest is a stub that
// make_stubs.py writes.
#include <cuda_runtime_api.h>

#include "tests/cuda_fake/fake_gemm.h"

namespace {

using ferry::cuda_fake::Gemm;
using ferry::cuda_fake::kNotSupported;
using ferry::cuda_fake::kOk;
using ferry::cuda_fake::Matrix;
using ferry::cuda_fake::Scalar;

struct Handle {
  cudaStream_t stream = nullptr;
  int math_mode = 0;
  int pointer_mode = 0;  // 0: alpha and beta stand on the host
};

int Put(const Handle& handle, const Gemm& gemm) {
  if (handle.pointer_mode != 0) {
    return kNotSupported;
  }
  return PutGemm(handle.stream, gemm);
}

}  // namespace

extern "C" {

int cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  return kOk;
}

int cublasDestroy_v2(Handle* handle) {
  delete handle;
  return kOk;
}

int cublasSetStream_v2(Handle* handle, cudaStream_t stream) {
  handle->stream = stream;
  return kOk;
}

int cublasSetWorkspace_v2(Handle*, void*, size_t) { return kOk; }

int cublasSetMathMode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return kOk;
}

int cublasGetMathMode(Handle* handle, int* mode) {
  *mode = handle->math_mode;
  return kOk;
}

int cublasSetPointerMode_v2(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return kOk;
}

int cublasGetPointerMode_v2(Handle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return kOk;
}

// transa and transb: 0 is no.
int cublasGemmStridedBatchedEx(Handle* handle, int transa, int transb, int m,
                               int n, int k, const void* alpha, const void* a,
                               cudaDataType a_type, int lda, long long stride_a,
                               const void* b, cudaDataType b_type, int ldb,
                               long long stride_b, const void* beta, void* c,
                               cudaDataType c_type, int ldc, long long stride_c,
                               int batches, int compute, int /*algorithm*/) {
  const Matrix of_c = {c, c_type, ldc, stride_c};
  return Put(*handle,
             {.rows = m,
              .columns = n,
              .depth = k,
              .batches = batches,
              .a = {const_cast<void*>(a), a_type, lda, stride_a, transa != 0},
              .b = {const_cast<void*>(b), b_type, ldb, stride_b, transb != 0},
              .c = of_c,
              .d = of_c,
              .alpha = Scalar(alpha, compute),
              .beta = Scalar(beta, compute)});
}

int cublasGemmEx(Handle* handle, int transa, int transb, int m, int n, int k,
                 const void* alpha, const void* a, cudaDataType a_type, int lda,
                 const void* b, cudaDataType b_type, int ldb, const void* beta,
                 void* c, cudaDataType c_type, int ldc, int compute,
                 int algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a,
                                    a_type, lda, 0, b, b_type, ldb, 0, beta, c,
                                    c_type, ldc, 0, 1, compute, algorithm);
}

int cublasSgemm_v2(Handle* handle, int transa, int transb, int m, int n, int k,
                   const float* alpha, const float* a, int lda, const float* b,
                   int ldb, const float* beta, float* c, int ldc) {
  return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, CUDA_R_32F,
                      lda, b, CUDA_R_32F, ldb, beta, c, CUDA_R_32F, ldc, 0, 0);
}

}  // extern "C"
