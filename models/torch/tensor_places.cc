// Implements ReadCallSpec and PlaceByName: walks the tree, finds names in it.
#include "models/torch/tensor_places.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

// Names of a node's children: a dict's keys, else their places.
std::vector<std::string> ChildKeys(const Json& node) {
  std::vector<std::string> keys;
  const Json context = Json::parse(node.value("context", "null"), nullptr,
                                   /*allow_exceptions=*/false);
  if (!context.is_array() || context.size() != node["children_spec"].size()) {
    return keys;
  }
  for (const Json& key : context) {
    if (!key.is_string()) {
      return {};
    }
    keys.push_back(key.get<std::string>());
  }
  return keys;
}

absl::Status NotASpec() {
  return absl::InvalidArgumentError(
      "its call spec is not a tree of tuples, lists and dicts");
}

absl::Status Walk(const Json& node, const CallTensor& at, int depth,
                  std::vector<CallTensor>& tensors) {
  if (!node.is_object() || !node.contains("children_spec") ||
      !node["children_spec"].is_array() || depth > kMaxDepth) {
    return NotASpec();
  }
  if (!node.contains("type") || !node["type"].is_string()) {
    tensors.push_back(at);
    return absl::OkStatus();
  }
  const std::vector<std::string> keys = ChildKeys(node);
  absl::Status status;
  for (size_t i = 0; i < node["children_spec"].size() && status.ok(); ++i) {
    const std::string step = keys.empty() ? absl::StrCat(i) : keys[i];
    status = Walk(
        node["children_spec"][i],
        {absl::StrCat(at.path, "[", step, "]"), keys.empty() ? at.key : step},
        depth + 1, tensors);
  }
  return status;
}

// Returns tensors.size() where there is none of that name.
size_t FindTensor(const std::string& name,
                  const std::vector<CallTensor>& tensors) {
  for (const auto member : {&CallTensor::path, &CallTensor::key}) {
    const auto found = std::find_if(
        tensors.begin(), tensors.end(),
        [&](const CallTensor& one) { return one.*member == name; });
    if (found != tensors.end()) {
      return static_cast<size_t>(found - tensors.begin());
    }
  }
  return std::min(IndexInName(name).value_or(tensors.size()), tensors.size());
}

std::string Paths(const std::vector<CallTensor>& tensors) {
  return absl::StrJoin(tensors, ", ",
                       [](std::string* text, const CallTensor& one) {
                         absl::StrAppend(text, one.path);
                       });
}

}  // namespace

std::optional<size_t> IndexInName(const std::string& name) {
  const size_t mark = name.rfind("__");
  int64_t index = 0;
  if (mark == std::string::npos ||
      !absl::SimpleAtoi(name.substr(mark + 2), &index) || index < 0) {
    return std::nullopt;
  }
  return static_cast<size_t>(index);
}

absl::StatusOr<std::vector<CallTensor>> ReadCallSpec(
    absl::string_view json, const std::vector<std::string>& roots) {
  // [version, tree]
  const Json spec = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!spec.is_array() || spec.size() != 2) {
    return NotASpec();
  }
  const Json& tree = spec[1];
  std::vector<CallTensor> tensors;
  if (roots.size() == 1) {
    const absl::Status status = Walk(tree, {roots[0], ""}, 0, tensors);
    return status.ok() ? absl::StatusOr<std::vector<CallTensor>>(tensors)
                       : status;
  }
  if (!tree.is_object() || !tree.contains("children_spec") ||
      tree["children_spec"].size() != roots.size()) {
    return NotASpec();
  }
  for (size_t i = 0; i < roots.size(); ++i) {
    const absl::Status status =
        Walk(tree["children_spec"][i], {roots[i], ""}, 0, tensors);
    if (!status.ok()) {
      return status;
    }
  }
  return tensors;
}

absl::StatusOr<std::vector<size_t>> PlaceByName(
    absl::string_view side, const std::vector<TensorSpec>& specs,
    const std::vector<CallTensor>& tensors) {
  if (specs.size() != tensors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(side, "s: the config has ", specs.size(), ", the package ",
                     tensors.size(), ": ", Paths(tensors)));
  }
  std::vector<size_t> places;
  std::string missing;
  for (const TensorSpec& spec : specs) {
    const size_t place = FindTensor(spec.name, tensors);
    if (place < tensors.size() &&
        std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    } else {
      missing = spec.name;
    }
  }
  if (places.size() == specs.size()) {
    return places;
  }
  if (!places.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        side, " '", missing, "': expected one of ", Paths(tensors),
        ", a key of it, or NAME__<index>, each once, or no such name at all"));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    places.push_back(i);
  }
  return places;
}

}  // namespace ferry
