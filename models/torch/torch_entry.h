// Declares what the library ferry_torch exports, without LibTorch's headers.
//
// Thread safety: one call at a time.
#ifndef FERRY_MODELS_TORCH_TORCH_ENTRY_H_
#define FERRY_MODELS_TORCH_TORCH_ENTRY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batcher/cpu_model.h"
#include "batcher/device_model.h"
#include "models/config/model_options.h"
#include "models/load_report.h"

namespace ferry {

class DeviceRuntime;  // models/torch/device/device_runtime.h

using CpuModelsOrStatus =
    absl::StatusOr<std::vector<std::unique_ptr<CpuModel>>>;

using DeviceModelOrStatus = absl::StatusOr<std::unique_ptr<DeviceModel>>;

// The names and the types of the entries.
inline constexpr char kTorchEntryName[] = "FerryLoadTorchModels";
using TorchEntry = void (*)(const ModelOptions& options,
                            const std::string& path, LoadReport& report,
                            CpuModelsOrStatus& models);

inline constexpr char kDeviceModelEntryName[] = "FerryLoadDeviceModel";
using DeviceModelEntry = void (*)(const ModelOptions& options,
                                  const std::string& path,
                                  DeviceRuntime& runtime, LoadReport& report,
                                  DeviceModelOrStatus& model);

inline constexpr char kOpLibraryEntryName[] = "FerryOpenOpLibrary";
using OpLibraryEntry = void (*)(const std::string& path,
                                absl::StatusOr<int>& operators);

}  // namespace ferry

// Loads a model for options.instance_count instances into `models`. `path` is
// the .pt or .pt2 file, or the weights of a network (empty: seeded weights).
// Where the options' spec lacks inputs or outputs, that of the models has them.
// `report`: empty before; what is known where loading fails, too.
extern "C" void FerryLoadTorchModels(const ferry::ModelOptions& options,
                                     const std::string& path,
                                     ferry::LoadReport& report,
                                     ferry::CpuModelsOrStatus& models);

// The same for a device, which outlives the model. It has one instance,
// whatever options.instance_count says.
extern "C" void FerryLoadDeviceModel(const ferry::ModelOptions& options,
                                     const std::string& path,
                                     ferry::DeviceRuntime& runtime,
                                     ferry::LoadReport& report,
                                     ferry::DeviceModelOrStatus& model);

// Opens a library of custom operators for models loaded later; `operators`: how
// many it has brought.
extern "C" void FerryOpenOpLibrary(const std::string& path,
                                   absl::StatusOr<int>& operators);

#endif  // FERRY_MODELS_TORCH_TORCH_ENTRY_H_
