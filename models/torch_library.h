// LoadTorchModels opens the library with the backends on LibTorch for the first
// model, so that a process that serves none starts without LibTorch.
//
// Thread safety: thread-safe after PrepareTorchEnvironment().
#ifndef FERRY_MODELS_TORCH_LIBRARY_H_
#define FERRY_MODELS_TORCH_LIBRARY_H_

#include <string>

#include "models/torch/torch_entry.h"

namespace ferry {

// Sets what LibTorch and libgomp read from the environment when they are
// loaded, unless the user did: a bound on how long their threads spin between
// two operators (GOMP_SPINCOUNT, where OMP_WAIT_POLICY is not set), and huge
// pages for tensors of 2 MiB and more (THP_MEM_ALLOC_ENABLE,
// docs/decisions/0010-huge-pages.md).
// REQUIRES: called in main before any thread is started.
void PrepareTorchEnvironment();

// Loads a model for options.instance_count instances: see FerryLoadTorchModels.
// FAILED_PRECONDITION where the library cannot be opened.
CpuModelsOrStatus LoadTorchModels(const ModelOptions& options,
                                  const std::string& path, LoadReport& report);

// The same for a device, which outlives the model; of one instance.
DeviceModelOrStatus LoadDeviceModel(const ModelOptions& options,
                                    const std::string& path,
                                    DeviceRuntime& runtime, LoadReport& report);

// Opens a library of custom operators for models loaded later, and returns how
// many it has brought. FAILED_PRECONDITION as above; NOT_FOUND or
// INVALID_ARGUMENT where it is missing or cannot be opened.
// REQUIRES: no other thread loads or opens.
absl::StatusOr<int> OpenOpLibrary(const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_LIBRARY_H_
