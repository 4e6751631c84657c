// Implements CastElements with one kernel for each pair of types.
#include "models/cuda/cast_elements.h"
#include "models/cuda/cast_kernel.cuh"
#include "models/cuda/launch_kernel.cuh"

namespace ferry {
namespace {

template <typename From, typename To>
cudaError_t Start(const void* from, void* to, int64_t count,
                  cudaStream_t stream) {
  return LaunchKernel(&CastKernel<From, To>, count, stream,
                      static_cast<const From*>(from), static_cast<To*>(to),
                      count);
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
