// Opening the library by its name.
#include "models/torch_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr char kLibraryName[] = "libferry_torch.so";
// Enough to cover the gap between two operators of one forward, too short to
// take the processor from those who answer requests.
constexpr char kSpinCount[] = "10000";

struct Library {
  TorchEntry load = nullptr;
  std::string error;
};

// The name without a folder: the loader looks where this program's run path
// says, which is right in the build tree and in an installed one.
Library Open() {
  void* const handle = dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return {nullptr, dlerror()};
  }
  void* const entry = dlsym(handle, kTorchEntryName);
  if (entry == nullptr) {
    return {nullptr, dlerror()};
  }
  return {reinterpret_cast<TorchEntry>(entry), ""};
}

}  // namespace

void PrepareOpenMpEnvironment() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("GOMP_SPINCOUNT", kSpinCount, /*overwrite=*/0);
  }
}

HostModelsOrStatus LoadTorchModels(const ModelOptions& options,
                                   const std::string& path) {
  static const Library library = Open();
  if (library.load == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", kLibraryName, ": ", library.error));
  }
  HostModelsOrStatus models = absl::InternalError("not loaded");
  library.load(options, path, models);
  return models;
}

}  // namespace ferry
