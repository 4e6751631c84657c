// Implements ReadReshapes, and checks that both shapes have the same elements.
#include "models/config/config_reshapes.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"

namespace ferry {
namespace {

// Elements of the sizes that are fixed, and how many are not; no elements
// where they are too many to count.
template <typename Dims>
std::pair<std::optional<int64_t>, int> Layout(const Dims& dims) {
  std::vector<int64_t> fixed;
  int varying = 0;
  for (const int64_t dim : dims) {
    if (dim == kAnySize) {
      ++varying;
    } else {
      fixed.push_back(dim);
    }
  }
  return {ElementCount(fixed), varying};
}

template <typename Tensors>
ModelOptions::Reshapes ReadSide(const Tensors& tensors, absl::string_view side,
                                const ConfigNode& node, BackendKind backend,
                                ConfigDiagnostics& diagnostics) {
  ModelOptions::Reshapes reshapes(static_cast<size_t>(tensors.size()));
  bool has_any = false;
  for (int i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].has_reshape()) {
      continue;
    }
    has_any = true;
    const auto& shape = tensors[i].reshape().shape();
    const Place place = node.Child(side, i).Line("reshape");
    const std::string field =
        absl::StrCat("field '", side, ".reshape' of '", tensors[i].name(), "'");
    if (!IsPytorch(backend)) {
      diagnostics.Add(
          place, absl::StrCat(field, ": expected backend 'pytorch' with it"));
    }
    if (Layout(tensors[i].dims()) != Layout(shape)) {
      diagnostics.Add(
          place,
          absl::StrCat(field,
                       ": expected as many elements and as many -1 as in "
                       "'dims', [",
                       absl::StrJoin(tensors[i].dims(), ","), "], got [",
                       absl::StrJoin(shape, ","), "]"));
    }
    reshapes[static_cast<size_t>(i)].emplace(shape.begin(), shape.end());
  }
  return has_any ? reshapes : ModelOptions::Reshapes();
}

}  // namespace

void ReadReshapes(const inference::ModelConfig& message, const ConfigNode& node,
                  ModelOptions& options, ConfigDiagnostics& diagnostics) {
  options.input_reshapes =
      ReadSide(message.input(), "input", node, options.backend, diagnostics);
  options.output_reshapes =
      ReadSide(message.output(), "output", node, options.backend, diagnostics);
}

}  // namespace ferry
