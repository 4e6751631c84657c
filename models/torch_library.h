// Opens the shared library with the backends on LibTorch when the first model
// needs it, so that a process that serves none starts without LibTorch.
//
// Thread safety: thread-safe after PrepareOpenMpEnvironment().
#ifndef FERRY_MODELS_TORCH_LIBRARY_H_
#define FERRY_MODELS_TORCH_LIBRARY_H_

#include <string>

#include "models/torch/torch_entry.h"

namespace ferry {

// Bounds how long LibTorch's threads spin between two operators, unless the
// user has set OMP_WAIT_POLICY or GOMP_SPINCOUNT: libgomp reads them when it is
// loaded. REQUIRES: called in main before any thread is started.
void PrepareOpenMpEnvironment();

// Loads a model for options.instance_count lanes: see FerryLoadTorchModels.
// FAILED_PRECONDITION where the library cannot be opened.
HostModelsOrStatus LoadTorchModels(const ModelOptions& options,
                                   const std::string& path);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_LIBRARY_H_
