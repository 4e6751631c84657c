// Implements LoadTorchModels and others: opens the library by its name.
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
// take the processor from the threads that answer requests.
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
  DeviceModelEntry load_on_device = nullptr;
  OpLibraryEntry open_op_library = nullptr;
  std::string error = "";
};

// The name without a folder: the loader looks where this program's run path
// says, which is right in the build tree and in an installed one.
Library Open() {
  KeepFreedMemory();
  void* const handle = dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return {.error = dlerror()};
  }
  void* const load = dlsym(handle, kTorchEntryName);
  void* const load_on_device = dlsym(handle, kDeviceModelEntryName);
  void* const open_op_library = dlsym(handle, kOpLibraryEntryName);
  if (load == nullptr || load_on_device == nullptr ||
      open_op_library == nullptr) {
    return {.error = dlerror()};
  }
  return {.load = reinterpret_cast<TorchEntry>(load),
          .load_on_device = reinterpret_cast<DeviceModelEntry>(load_on_device),
          .open_op_library = reinterpret_cast<OpLibraryEntry>(open_op_library)};
}

const Library& TheLibrary() {
  static const Library library = Open();
  return library;
}

absl::Status CannotOpen() {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot open ", kLibraryName, ": ", TheLibrary().error));
}

}  // namespace

void PrepareTorchEnvironment() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("GOMP_SPINCOUNT", kSpinCount, /*overwrite=*/0);
  }
  setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
}

CpuModelsOrStatus LoadTorchModels(const ModelOptions& options,
                                  const std::string& path, LoadReport& report) {
  if (TheLibrary().load == nullptr) {
    return CannotOpen();
  }
  CpuModelsOrStatus models = absl::InternalError("not loaded");
  TheLibrary().load(options, path, report, models);
  return models;
}

DeviceModelOrStatus LoadDeviceModel(const ModelOptions& options,
                                    const std::string& path,
                                    DeviceRuntime& runtime,
                                    LoadReport& report) {
  if (TheLibrary().load_on_device == nullptr) {
    return CannotOpen();
  }
  DeviceModelOrStatus model = absl::InternalError("not loaded");
  TheLibrary().load_on_device(options, path, runtime, report, model);
  return model;
}

absl::StatusOr<int> OpenOpLibrary(const std::string& path) {
  if (TheLibrary().open_op_library == nullptr) {
    return CannotOpen();
  }
  absl::StatusOr<int> operators = absl::InternalError("not opened");
  TheLibrary().open_op_library(path, operators);
  return operators;
}

}  // namespace ferry
