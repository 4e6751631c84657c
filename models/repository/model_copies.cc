// Implements MakeCopies by backend: simulated or on LibTorch.
#include "models/repository/model_copies.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "batcher/sim/echo_model.h"
#include "batcher/sim/simulated_model.h"
#include "models/config/not_served.h"
#include "models/config/warm_up_data.h"
#include "models/repository/repository_folder.h"

namespace ferry {
namespace {

constexpr char kDefaultScriptFile[] = "model.pt";
constexpr char kDefaultPackageFile[] = "model.pt2";

absl::StatusOr<std::unique_ptr<CpuModel>> MakeSimulated(
    const ModelOptions& options) {
  if (options.backend == BackendKind::kEcho) {
    return EchoModel::Create(options.spec);
  }
  SimulatedModelOptions simulation = options.simulation;
  simulation.buckets = options.buckets;
  return SimulatedModel::Create(options.spec, simulation);
}

std::string FilePath(const ModelOptions& options, const std::string& folder) {
  if (!NeedsFile(options)) {
    return "";
  }
  std::string file = options.weights;
  if (IsPytorch(options.backend)) {
    file = options.file;
  }
  if (file.empty()) {
    file = options.backend == BackendKind::kTorchScript ? kDefaultScriptFile
                                                        : kDefaultPackageFile;
  }
  return absl::StrCat(folder, "/", file);
}

// Says of a file that is missing what lies there instead.
absl::Status WithOthersThere(const absl::Status& status,
                             const ModelOptions& options,
                             const std::string& folder) {
  std::error_code error;
  std::set<std::string> others;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (options.backend == BackendKind::kTorchScript && options.file.empty() &&
        absl::EndsWith(name, ".pt2")) {
      return absl::NotFoundError(absl::StrCat(
          status.message(), ", but '", entry->path().string(),
          "' is there: write platform: \"torch_aoti\" into config.pbtxt"));
    }
    const absl::string_view advice = AdviceOnFile(name);
    if (!advice.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", entry->path().string(), "': ", advice));
    }
    others.insert(name);
  }
  return error ? status
               : absl::NotFoundError(
                     absl::StrCat(status.message(), "; the folder holds ",
                                  others.empty() ? "nothing" : Some(others)));
}

std::string WarmUpFolderOf(const std::string& version_path) {
  const std::filesystem::path folder(version_path);
  return (folder.parent_path() / kWarmUpFolder).string();
}

// `load` gets the options with the bytes of warm-up, and the file's path.
template <typename Result, typename Load>
Result LoadOnTorch(const ModelOptions& options, const std::string& folder,
                   Load&& load) {
  ModelOptions filled = options;
  if (absl::Status status =
          ReadWarmUpData(WarmUpFolderOf(folder), filled.warm_up);
      !status.ok()) {
    return status;
  }
  Result loaded = load(filled, FilePath(options, folder));
  if (absl::IsNotFound(loaded.status())) {
    return WithOthersThere(loaded.status(), options, folder);
  }
  return loaded;
}

}  // namespace

std::vector<int32_t> DeviceBuckets(int32_t max_batch_size) {
  std::vector<int32_t> buckets;
  for (int32_t rows = 1; rows < max_batch_size; rows *= 2) {
    buckets.push_back(rows);
  }
  if (max_batch_size > 0) {
    buckets.push_back(max_batch_size);
  }
  return buckets;
}

bool NeedsFile(const ModelOptions& options) {
  return IsPytorch(options.backend) || !options.weights.empty();
}

DeviceModelOrStatus MakeDeviceModel(const ModelOptions& options,
                                    const std::string& folder,
                                    DeviceRuntime& device, LoadReport& report) {
  return LoadOnTorch<DeviceModelOrStatus>(
      options, folder,
      [&](const ModelOptions& filled, const std::string& path) {
        return LoadDeviceModel(filled, path, device, report);
      });
}

CpuModelsOrStatus MakeCopies(const ModelOptions& options,
                             const std::string& folder, LoadReport& report) {
  if (RunsOnTorch(options.backend)) {
    return LoadOnTorch<CpuModelsOrStatus>(
        options, folder,
        [&](const ModelOptions& filled, const std::string& path) {
          return LoadTorchModels(filled, path, report);
        });
  }
  std::vector<std::unique_ptr<CpuModel>> copies;
  for (int32_t instance = 0; instance < options.instance_count; ++instance) {
    absl::StatusOr<std::unique_ptr<CpuModel>> model = MakeSimulated(options);
    if (!model.ok()) {
      return model.status();
    }
    copies.push_back(*std::move(model));
  }
  return copies;
}

}  // namespace ferry
