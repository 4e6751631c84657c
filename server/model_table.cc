// By name, then the few versions one after the other.
#include "server/model_table.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/client_text.h"

namespace ferry {
namespace {

bool IsVersion(const std::string& text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) && number >= 1;
}

}  // namespace

ModelTable::ModelTable(absl::Span<const ServedModel* const> models) {
  for (const ServedModel* model : models) {
    by_name_[model->name].push_back(&entries_.emplace_back(*model));
  }
  for (auto& [name, versions] : by_name_) {
    std::sort(versions.begin(), versions.end(),
              [](const ModelEntry* a, const ModelEntry* b) {
                return a->model.version > b->model.version;
              });
  }
}

absl::StatusOr<ModelEntry*> ModelTable::Find(const std::string& name,
                                             const std::string& version) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    return absl::NotFoundError(absl::StrCat("Request for unknown model: '",
                                            Shown(name), "' is not found"));
  }
  if (version.empty()) {
    return found->second.front();
  }
  for (ModelEntry* entry : found->second) {
    if (entry->version == version) {
      return entry;
    }
  }
  if (!IsVersion(version)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model version: expected a number of at least 1, got '",
                     Shown(version), "' for model '", name, "'"));
  }
  return absl::NotFoundError(absl::StrCat("Request for unknown model: '", name,
                                          "' version ", Shown(version),
                                          " is not found"));
}

}  // namespace ferry
