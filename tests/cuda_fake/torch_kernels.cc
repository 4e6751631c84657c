// Implements TorchKernel(): the kernels of LibTorch 2.11 that the tests' models
// launch, by name, on the host: those that go over elements that stand one
// after the other (ATen/native/cuda/CUDALoops.cuh).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda_fake/fake_calls.h"
#include "tests/cuda_fake/fake_kernels.h"
#include "tests/cuda_fake/fake_memory.h"

namespace ferry::cuda_fake {
namespace {

float ToFloat(float value) { return value; }
float ToFloat(__nv_bfloat16 value) { return __bfloat162float(value); }
float ToFloat(__half value) { return __half2float(value); }

template <typename To>
To From(float value) {
  if constexpr (std::is_same_v<To, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else if constexpr (std::is_same_v<To, __half>) {
    return __float2half_rn(value);
  } else {
    return static_cast<To>(value);
  }
}

// What a functor keeps, as floats, where its first members are as large.
using Kept = std::array<float, 4>;

// Makes a kernel of `Arity` inputs out of a function of floats. Arguments are
// the count, the functor, and the pointers, that of the output first.
template <typename Out, typename In, size_t Arity, typename Function>
KernelMaker Elementwise(Function function) {
  return [function](const KernelLaunch& launch) -> Work {
    const auto count = launch.arg<int>(0);
    Kept kept = {};
    std::memcpy(kept.data(), launch.args[1], sizeof(kept));
    const auto data = launch.arg<std::array<void*, Arity + 1>>(2);
    return [=] {
      const auto elements = static_cast<size_t>(count);
      FakeMemory& memory = FakeMemory::Get();
      auto* const to =
          reinterpret_cast<Out*>(memory.Reach(data[0], elements * sizeof(Out)));
      std::array<const In*, Arity> from = {};
      bool is_legal = to != nullptr;
      for (size_t i = 0; i < Arity; ++i) {
        from[i] = reinterpret_cast<const In*>(
            memory.Reach(data[i + 1], elements * sizeof(In)));
        is_legal = is_legal && from[i] != nullptr;
      }
      if (!is_legal) {
        LogOnce("illegal address in a kernel of LibTorch");
        return cudaErrorIllegalAddress;
      }
      for (size_t i = 0; i < elements; ++i) {
        if constexpr (Arity == 1) {
          to[i] = From<Out>(function(kept, ToFloat(from[0][i])));
        } else {
          to[i] = From<Out>(
              function(kept, ToFloat(from[0][i]), ToFloat(from[1][i])));
        }
      }
      return cudaSuccess;
    };
  };
}

// Fills with the functor's value, whatever type it is.
template <typename T>
KernelMaker Fill() {
  return [](const KernelLaunch& launch) -> Work {
    const auto count = static_cast<size_t>(launch.arg<int>(0));
    const T value = launch.arg<T>(1);
    const auto data = launch.arg<std::array<void*, 1>>(2);
    return [=] {
      auto* const to = reinterpret_cast<T*>(
          FakeMemory::Get().Reach(data[0], count * sizeof(T)));
      if (to == nullptr) {
        LogOnce("illegal address in a kernel of LibTorch");
        return cudaErrorIllegalAddress;
      }
      std::fill(to, to + count, value);
      return cudaSuccess;
    };
  };
}

float Same(const Kept&, float x) { return x; }

// at::clamp with numbers: which of them count (0: the least, 1: the most, 2:
// both), then both.
float Clamped(const Kept& kept, float x) {
  int limits = 0;
  std::memcpy(&limits, kept.data(), sizeof(limits));
  x = limits == 1 ? x : std::fmax(x, kept[1]);
  return limits == 0 ? x : std::fmin(x, limits == 1 ? kept[1] : kept[2]);
}

// The functor of the operation is empty, and the number behind it.
float TimesNumber(const Kept& kept, float x) { return x * kept[1]; }
// self + other * alpha
float PlusNumber(const Kept& kept, float x) { return x + kept[0] * kept[1]; }
float Sum(const Kept& kept, float x, float y) { return x + y * kept[0]; }
float Product(const Kept&, float x, float y) { return x * y; }

struct Known {
  std::vector<const char*> parts;  // all in the name
  KernelMaker maker;
};

template <typename T>
void AddOperations(const std::string& type, std::vector<Known>& all) {
  // Kept for as long as the process.
  const auto text = [](const std::string& of) {
    return (new std::string(of))->c_str();
  };
  const char* const mul = "at::native::binary_internal::MulFunctor<float>";
  all.push_back({{"AUnaryFunctor<", text(type + ", " + type), mul},
                 Elementwise<T, T, 1>(TimesNumber)});
  all.push_back({{"BUnaryFunctor<", text(type + ", " + type), mul},
                 Elementwise<T, T, 1>(TimesNumber)});
  all.push_back({{"BinaryFunctor<", text(type + ", " + type), mul},
                 Elementwise<T, T, 2>(Product)});
  all.push_back({{text("CUDAFunctorOnSelf_add<" + type)},
                 Elementwise<T, T, 1>(PlusNumber)});
  all.push_back({{text("CUDAFunctor_add<" + type)}, Elementwise<T, T, 2>(Sum)});
  all.push_back({{"launch_clamp_scalar(", text("{lambda(" + type + ")#1}")},
                 Elementwise<T, T, 1>(Clamped)});
}

std::vector<Known> MakeAll() {
  std::vector<Known> all;
  all.push_back({{"bfloat16_copy_kernel_cuda("},
                 Elementwise<__nv_bfloat16, float, 1>(Same)});
  all.push_back({{"bfloat16tofloat32_copy_kernel_cuda("},
                 Elementwise<float, __nv_bfloat16, 1>(Same)});
  all.push_back({{"FillFunctor<float>"}, Fill<float>()});
  all.push_back({{"FillFunctor<c10::BFloat16>"}, Fill<uint16_t>()});
  all.push_back({{"FillFunctor<c10::Half>"}, Fill<uint16_t>()});
  all.push_back({{"FillFunctor<double>"}, Fill<double>()});
  all.push_back({{"FillFunctor<long>"}, Fill<int64_t>()});
  all.push_back({{"FillFunctor<int>"}, Fill<int32_t>()});
  all.push_back({{"FillFunctor<unsigned char>"}, Fill<uint8_t>()});
  AddOperations<float>("float", all);
  AddOperations<__nv_bfloat16>("c10::BFloat16", all);
  AddOperations<__half>("c10::Half", all);
  return all;
}

}  // namespace

std::optional<KernelMaker> TorchKernel(const std::string& name) {
  if (name.find("at::native::vectorized_elementwise_kernel<") ==
          std::string::npos &&
      name.find("at::native::unrolled_elementwise_kernel<") ==
          std::string::npos) {
    return std::nullopt;
  }
  static const auto* const all = new std::vector<Known>(MakeAll());
  for (const Known& known : *all) {
    if (std::all_of(known.parts.begin(), known.parts.end(),
                    [&](const char* part) {
                      return name.find(part) != std::string::npos;
                    })) {
      return known.maker;
    }
  }
  return std::nullopt;
}

}  // namespace ferry::cuda_fake
