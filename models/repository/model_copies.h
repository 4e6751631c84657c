// MakeCopies makes what computes a model's batches on the processor,
// MakeDeviceModel its network on a device.
//
// Thread safety: free functions.
// Errors: each names the model's file.
#ifndef FERRY_MODELS_REPOSITORY_MODEL_COPIES_H_
#define FERRY_MODELS_REPOSITORY_MODEL_COPIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/torch_library.h"

namespace ferry {

// Where one version's files lie.
struct VersionFolder {
  int64_t version = 1;
  std::string path;  // empty: the model needs no file
};

// Whether the model reads a file of its version folder.
bool NeedsFile(const ModelOptions& options);

// Makes the model's copies, not warmed up.
CpuModelsOrStatus MakeCopies(const ModelOptions& options,
                             const std::string& folder, LoadReport& report);

// The same on a device, which outlives it.
// REQUIRES: RunsOnTorch(options.backend).
DeviceModelOrStatus MakeDeviceModel(const ModelOptions& options,
                                    const std::string& folder,
                                    DeviceRuntime& device, LoadReport& report);

// The sizes of a batch that a device runs, where the config says none: a graph
// has one size, and kernels are chosen by it. Powers of two, and the largest.
std::vector<int32_t> DeviceBuckets(int32_t max_batch_size);

}  // namespace ferry

#endif  // FERRY_MODELS_REPOSITORY_MODEL_COPIES_H_
