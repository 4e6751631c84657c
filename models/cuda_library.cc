// Implements OpenCuda: opens the library by name, and refuses another build's.
#include "models/cuda_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "models/build_identity.h"

namespace ferry {
namespace {

absl::Status CheckBuild(void* library, const std::string& file) {
  void* const entry = dlsym(library, kCudaBuildName);
  const absl::string_view build =
      entry == nullptr ? "nothing" : reinterpret_cast<CudaBuild>(entry)();
  if (build == BuildIdentity()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      file, " is of another build than this program: expected ",
      BuildIdentity(), ", got ", build,
      "; take both from one build with FERRY_CUDA=ON, or --device=cpu"));
}

}  // namespace

absl::StatusOr<OpenedCuda> OpenCuda(double memory_share,
                                    const std::string& file) {
  // By its name alone, as torch_library.cc does.
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const entry =
      handle == nullptr ? nullptr : dlsym(handle, kCudaEntryName);
  if (entry == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot open ", file, ": ", dlerror(),
        "; a device needs a Ferry that is built with FERRY_CUDA=ON and a "
        "LibTorch with CUDA and its libraries; --device=cpu needs neither"));
  }
  if (absl::Status status = CheckBuild(handle, file); !status.ok()) {
    return status;
  }
  absl::StatusOr<OpenedCuda> opened = absl::InternalError("not opened");
  reinterpret_cast<CudaEntry>(entry)(memory_share, opened);
  return opened;
}

}  // namespace ferry
