// The one entry of the shared library that holds the backends on LibTorch.
#include "models/torch/torch_entry.h"

#include <c10/util/Exception.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/torch/networks/network_factory.h"
#include "models/torch/torch_model.h"
#include "models/torch/torch_script.h"

namespace ferry {
namespace {

// Completes options.spec where the config leaves tensors out.
absl::StatusOr<std::unique_ptr<Network>> LoadNetwork(const std::string& path,
                                                     ModelOptions& options) {
  try {
    if (options.backend == BackendKind::kTorchScript) {
      return LoadTorchScript(path, options);
    }
    return MakeNetwork(options, path);
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot load '", path, "': ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot load '", path, "': ", error.what()));
  }
}

}  // namespace
}  // namespace ferry

void FerryLoadTorchModels(const ferry::ModelOptions& options,
                          const std::string& path,
                          ferry::HostModelsOrStatus& models) {
  ferry::ModelOptions completed = options;
  absl::StatusOr<std::unique_ptr<ferry::Network>> loaded =
      ferry::LoadNetwork(path, completed);
  if (!loaded.ok()) {
    models = loaded.status();
    return;
  }
  // Shared: the lanes of a model have its weights once.
  const std::shared_ptr<ferry::Network> network = *std::move(loaded);
  std::vector<std::unique_ptr<ferry::HostModel>> lanes;
  for (int32_t lane = 0; lane < completed.instance_count; ++lane) {
    lanes.push_back(std::make_unique<ferry::TorchModel>(network, completed));
  }
  models = std::move(lanes);
}
