// Implements FakeKernels.
#include "tests/cuda_fake/fake_kernels.h"

#include <cxxabi.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/cuda_fake/fake_calls.h"
#include "tests/cuda_fake/fake_memory.h"
#include "tests/cuda_fake/fake_scenario.h"

namespace ferry::cuda_fake {
namespace {

std::string Demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

FakeKernels& FakeKernels::Get() {
  static auto* const kernels = new FakeKernels;
  return *kernels;
}

void FakeKernels::Register(const void* host_function, const char* mangled) {
  const std::lock_guard lock(mutex_);
  kernels_[host_function].name = mangled;
}

cudaError_t FakeKernels::Launch(const void* host_function,
                                const KernelLaunch& launch,
                                FakeStream* stream) {
  Work work;
  bool is_endless = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(host_function);
    if (found == kernels_.end()) {
      return cudaErrorInvalidDeviceFunction;
    }
    Kernel& kernel = found->second;
    if (!kernel.is_looked_up) {
      // Loaded now, and for as long as the process.
      if (const size_t bytes = FakeScenario::Get().kernel_kib << 10;
          bytes > 0 && FakeMemory::Get().AllocateDevice(bytes) == nullptr) {
        return cudaErrorMemoryAllocation;
      }
      kernel.is_looked_up = true;
      kernel.name = Demangled(kernel.name);
      kernel.maker = FerryKernel(kernel.name);
      if (!kernel.maker.has_value()) {
        kernel.maker = TorchKernel(kernel.name);
      }
      LogOnce((kernel.maker.has_value() ? "kernel " : "kernel does nothing: ") +
              kernel.name);
    }
    is_endless = ++launched_ == FakeScenario::Get().endless;
    if (kernel.maker.has_value()) {
      work = (*kernel.maker)(launch);
    }
  }
  FakeDevice& device = FakeDevice::Get();
  return is_endless
             ? device.PutEndless(stream)
             : device.Put(
                   stream, std::move(work),
                   std::chrono::milliseconds(FakeScenario::Get().kernel_ms));
}

}  // namespace ferry::cuda_fake
