// Implements FerryKernel(): Ferry's own kernels, each thread of a launch after
// the other, by the code that the device runs.
#include <cuda_runtime_api.h>
#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>

#include "tests/cuda_fake/fake_calls.h"
#include "tests/cuda_fake/fake_kernels.h"
#include "tests/cuda_fake/fake_memory.h"

// What nvcc gives a kernel.
#ifndef __grid_constant__
#define __grid_constant__
#endif
namespace ferry {
inline thread_local dim3 gridDim, blockDim, blockIdx, threadIdx;
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
}  // namespace ferry

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "models/cuda/cast_images_kernel.cuh"
#include "models/cuda/cast_kernel.cuh"
#include "models/cuda/normalize_kernel.cuh"
#pragma GCC diagnostic pop

namespace ferry::cuda_fake {
namespace {

template <typename T>
std::string NameOf() {
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, nullptr),
      std::free);
  return name.get();
}

template <typename Kernel>
void RunThreads(const dim3& grid, const dim3& block, const Kernel& kernel) {
  gridDim = grid;
  blockDim = block;
  for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) {
      kernel();
    }
  }
}

cudaError_t Illegal() {
  LogOnce("illegal address in a kernel of Ferry");
  return cudaErrorIllegalAddress;
}

// Where `count` elements stand, or null.
template <typename T>
T* Elements(const T* address, int64_t count) {
  return reinterpret_cast<T*>(
      FakeMemory::Get().Reach(address, static_cast<size_t>(count) * sizeof(T)));
}

template <typename From, typename To>
Work MakeCast(const KernelLaunch& launch) {
  const auto from = launch.arg<const From*>(0);
  const auto to = launch.arg<To*>(1);
  const auto count = launch.arg<int64_t>(2);
  return [=, grid = launch.grid, block = launch.block] {
    const From* const source = Elements(from, count);
    To* const target = Elements(to, count);
    if (source == nullptr || target == nullptr) {
      return Illegal();
    }
    RunThreads(grid, block, [&] { CastKernel(source, target, count); });
    return cudaSuccess;
  };
}

template <typename From, typename To>
Work MakeCastImages(const KernelLaunch& launch) {
  const auto from = launch.arg<const From*>(0);
  const auto from_layout = launch.arg<ImageLayout>(1);
  const auto to = launch.arg<To*>(2);
  const auto to_layout = launch.arg<ImageLayout>(3);
  const auto count = launch.arg<int64_t>(4);
  return [=, grid = launch.grid, block = launch.block] {
    const From* const source = Elements(from, count);
    To* const target = Elements(to, count);
    if (source == nullptr || target == nullptr) {
      return Illegal();
    }
    RunThreads(grid, block, [&] {
      CastImagesKernel(source, from_layout, target, to_layout, count);
    });
    return cudaSuccess;
  };
}

template <typename To>
Work MakeNormalize(const KernelLaunch& launch) {
  const auto from = launch.arg<const uint8_t*>(0);
  const auto from_layout = launch.arg<ImageLayout>(1);
  const auto to = launch.arg<To*>(2);
  const auto to_layout = launch.arg<ImageLayout>(3);
  const auto count = launch.arg<int64_t>(4);
  const auto scales = launch.arg<ChannelScales>(5);
  return [=, grid = launch.grid, block = launch.block] {
    const uint8_t* const source = Elements(from, count);
    To* const target = Elements(to, count);
    if (source == nullptr || target == nullptr) {
      return Illegal();
    }
    RunThreads(grid, block, [&] {
      NormalizeKernel(source, from_layout, target, to_layout, count, scales);
    });
    return cudaSuccess;
  };
}

// By what their demangled names begin with.
using Makers = std::map<std::string, KernelMaker>;

template <typename From, typename To>
void AddCast(Makers& makers) {
  makers["void ferry::CastKernel<" + NameOf<From>() + ", " + NameOf<To>() +
         ">("] = MakeCast<From, To>;
}

template <typename From, typename To>
void AddCastImages(Makers& makers) {
  makers["void ferry::CastImagesKernel<" + NameOf<From>() + ", " +
         NameOf<To>() + ">("] = MakeCastImages<From, To>;
}

template <typename From>
void AddCastsFrom(Makers& makers) {
  AddCast<From, __half>(makers);
  AddCast<From, __nv_bfloat16>(makers);
  AddCast<From, float>(makers);
  AddCast<From, double>(makers);
}

template <typename From>
void AddImagesFrom(Makers& makers) {
  AddCastImages<From, __half>(makers);
  AddCastImages<From, __nv_bfloat16>(makers);
  AddCastImages<From, float>(makers);
}

template <typename To>
void AddNormalize(Makers& makers) {
  makers["void ferry::NormalizeKernel<" + NameOf<To>() + ">("] =
      MakeNormalize<To>;
}

Makers MakeAll() {
  Makers makers;
  AddCastsFrom<uint8_t>(makers);
  AddCastsFrom<uint16_t>(makers);
  AddCastsFrom<uint32_t>(makers);
  AddCastsFrom<uint64_t>(makers);
  AddCastsFrom<int8_t>(makers);
  AddCastsFrom<int16_t>(makers);
  AddCastsFrom<int32_t>(makers);
  AddCastsFrom<int64_t>(makers);
  AddCastsFrom<__half>(makers);
  AddCastsFrom<__nv_bfloat16>(makers);
  AddCastsFrom<float>(makers);
  AddCastsFrom<double>(makers);
  AddImagesFrom<__half>(makers);
  AddImagesFrom<__nv_bfloat16>(makers);
  AddImagesFrom<float>(makers);
  AddImagesFrom<double>(makers);
  AddNormalize<__half>(makers);
  AddNormalize<__nv_bfloat16>(makers);
  AddNormalize<float>(makers);
  return makers;
}

}  // namespace

std::optional<KernelMaker> FerryKernel(const std::string& name) {
  static const auto* const makers = new Makers(MakeAll());
  const auto found = makers->find(name.substr(0, name.find('(') + 1));
  return found == makers->end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ferry::cuda_fake
