// Implements CastElements with one kernel for each pair of types.
#include "models/cuda/cast_elements.h"
#include "models/cuda/element_pack.cuh"

namespace ferry {
namespace {

template <typename From, typename To>
__device__ To Cast(From value) {
  if constexpr (sizeof(To) == 8 && sizeof(From) >= 4 &&
                (std::is_integral_v<From> || std::is_same_v<From, double>)) {
    return static_cast<To>(value);
  } else {
    return CastTo<To>(ToFloat(value));
  }
}

template <typename From, typename To>
__global__ void CastKernel(const From* __restrict__ from, To* __restrict__ to,
                           int64_t count) {
  const int64_t packs = count / kPack;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < packs; i += step) {
    const auto in = reinterpret_cast<const ElementPack<From>*>(from)[i];
    ElementPack<To> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      out.values[k] = Cast<From, To>(in.values[k]);
    }
    reinterpret_cast<ElementPack<To>*>(to)[i] = out;
  }
  const int64_t rest = packs * kPack + first;
  if (rest < count) {
    to[rest] = Cast<From, To>(from[rest]);
  }
}

template <typename From, typename To>
cudaError_t Start(const void* from, void* to, int64_t count,
                  cudaStream_t stream) {
  CastKernel<<<BlocksFor(count / kPack), kThreads, 0, stream>>>(
      static_cast<const From*>(from), static_cast<To*>(to), count);
  return cudaGetLastError();
}

template <typename From>
cudaError_t StartFrom(const void* from, DeviceElements to, int64_t count,
                      cudaStream_t stream) {
  switch (to.type) {
    case DataType::kFp16:
      return Start<From, __half>(from, to.data, count, stream);
    case DataType::kBf16:
      return Start<From, __nv_bfloat16>(from, to.data, count, stream);
    case DataType::kFp32:
      return Start<From, float>(from, to.data, count, stream);
    case DataType::kFp64:
      return Start<From, double>(from, to.data, count, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t CastElements(DeviceElements from, DeviceElements to, int64_t count,
                         cudaStream_t stream) {
  if (count == 0) {
    return cudaSuccess;  // either may be null
  }
  if (from.type == to.type && from.type != DataType::kBytes) {
    return cudaMemcpyAsync(to.data, from.data,
                           static_cast<size_t>(count) * ElementSize(to.type),
                           cudaMemcpyDeviceToDevice, stream);
  }
  switch (from.type) {
    case DataType::kBool:
    case DataType::kUint8:
      return StartFrom<uint8_t>(from.data, to, count, stream);
    case DataType::kUint16:
      return StartFrom<uint16_t>(from.data, to, count, stream);
    case DataType::kUint32:
      return StartFrom<uint32_t>(from.data, to, count, stream);
    case DataType::kUint64:
      return StartFrom<uint64_t>(from.data, to, count, stream);
    case DataType::kInt8:
      return StartFrom<int8_t>(from.data, to, count, stream);
    case DataType::kInt16:
      return StartFrom<int16_t>(from.data, to, count, stream);
    case DataType::kInt32:
      return StartFrom<int32_t>(from.data, to, count, stream);
    case DataType::kInt64:
      return StartFrom<int64_t>(from.data, to, count, stream);
    case DataType::kFp16:
      return StartFrom<__half>(from.data, to, count, stream);
    case DataType::kBf16:
      return StartFrom<__nv_bfloat16>(from.data, to, count, stream);
    case DataType::kFp32:
      return StartFrom<float>(from.data, to, count, stream);
    case DataType::kFp64:
      return StartFrom<double>(from.data, to, count, stream);
    case DataType::kBytes:
      break;
  }
  return cudaErrorInvalidValue;
}

}  // namespace ferry
