// FakeKernels knows the kernels that libraries register, by name, and makes of
// a launch what the host does in its place.
//
// Kernels of Ferry run their own code, those of LibTorch that torch_kernels.cc
// names run what stands there; any other does nothing, and is logged.
//
// Thread safety: thread-safe.
#ifndef FERRY_TESTS_CUDA_FAKE_FAKE_KERNELS_H_
#define FERRY_TESTS_CUDA_FAKE_FAKE_KERNELS_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "tests/cuda_fake/fake_device.h"

namespace ferry::cuda_fake {

// How a kernel is launched; arguments are to be copied before the call returns.
struct KernelLaunch {
  dim3 grid;
  dim3 block;
  void** args = nullptr;

  template <typename T>
  T arg(size_t index) const {
    return *static_cast<const T*>(args[index]);
  }
};

// Makes the work of one launch.
using KernelMaker = std::function<Work(const KernelLaunch&)>;

// Returns the maker of a kernel of that demangled name, or nothing.
std::optional<KernelMaker> FerryKernel(const std::string& name);
std::optional<KernelMaker> TorchKernel(const std::string& name);

class FakeKernels {
 public:
  static FakeKernels& Get();

  void Register(const void* host_function, const char* mangled);
  cudaError_t Launch(const void* host_function, const KernelLaunch& launch,
                     FakeStream* stream);

 private:
  struct Kernel {
    std::string name;
    bool is_looked_up = false;
    std::optional<KernelMaker> maker;
  };

  std::mutex mutex_;
  std::map<const void*, Kernel> kernels_;
  uint64_t launched_ = 0;
};

}  // namespace ferry::cuda_fake

#endif  // FERRY_TESTS_CUDA_FAKE_FAKE_KERNELS_H_
