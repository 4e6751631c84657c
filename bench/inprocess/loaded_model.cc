// Implements LoadNamedModel(): plans, then loads.
#include "bench/inprocess/loaded_model.h"

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferry::bench {

absl::StatusOr<LoadedModel> LoadNamedModel(
    const ModelRepositoryOptions& options, const std::string& name) {
  LoadedModel loaded;
  loaded.repository = std::make_unique<ModelRepository>(options);
  if (const auto names = loaded.repository->Names(); !names.ok()) {
    return names.status();
  }
  const auto plan = loaded.repository->Plan(name);
  if (!plan.ok()) {
    return loaded.repository->WithHint(name, plan.status());
  }
  if (plan->versions.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "model '", name, "': expected a version to load, got none"));
  }
  try {
    auto model = loaded.repository->Load(*plan, plan->versions.rbegin()->first,
                                         DeviceUse::kAlone);
    if (!model.ok()) {
      return model.status();
    }
    loaded.model = *std::move(model);
  } catch (const std::exception& error) {  // no memory, or no thread
    return absl::ResourceExhaustedError(
        absl::StrCat("model '", name, "': ", error.what()));
  }
  return loaded;
}

}  // namespace ferry::bench
