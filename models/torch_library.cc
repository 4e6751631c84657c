// Opening the library by its name.
#include "models/torch_library.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr char kLibraryName[] = "libferry_torch.so";
// Enough to cover the gap between two operators of one forward, too short to
// take the processor from those who answer requests.
constexpr char kSpinCount[] = "10000";

// Keeps freed memory in the process: LibTorch asks for the same few hundred
// megabytes in each batch, and fetching them anew costs a page fault for every
// 4 KiB (17,700 in a batch of 32 of the encoder, against 190 so).
void KeepFreedMemory() {
  constexpr int kMmapThreshold = 32 << 20;  // the most that glibc allows
  constexpr int kTopPad = 64 << 20;
  constexpr int kTrimThreshold = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  mallopt(M_TOP_PAD, kTopPad);
  mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
}

struct Library {
  TorchEntry load = nullptr;
  std::string error;
};

// The name without a folder: the loader looks where this program's run path
// says, which is right in the build tree and in an installed one.
Library Open() {
  KeepFreedMemory();
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

void PrepareTorchEnvironment() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("GOMP_SPINCOUNT", kSpinCount, /*overwrite=*/0);
  }
  setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
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
