// Opening the library by its name.
#include "models/cuda_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr char kLibraryName[] = "libferry_cuda.so";

}  // namespace

absl::StatusOr<OpenedCuda> OpenCuda(double memory_fraction) {
  // By its name alone, as torch_library.cc does.
  void* const handle = dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
  void* const entry =
      handle == nullptr ? nullptr : dlsym(handle, kCudaEntryName);
  if (entry == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot open ", kLibraryName, ": ", dlerror(),
        "; a device needs a Ferry that is built with FERRY_CUDA=ON and a "
        "LibTorch with CUDA and its libraries; --device=cpu needs neither"));
  }
  absl::StatusOr<OpenedCuda> opened = absl::InternalError("not opened");
  reinterpret_cast<CudaEntry>(entry)(memory_fraction, opened);
  return opened;
}

}  // namespace ferry
