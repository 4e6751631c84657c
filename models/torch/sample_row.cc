// Implements RowOf: checks a sample against the spec, input by input.
#include "models/torch/sample_row.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

absl::Status CheckFollowers(const ModelSpec& spec,
                            const std::vector<RowInput>& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    const TensorSpec& input = spec.inputs[i];
    if (!input.follows.has_value() || !row[i].is_given) {
      continue;
    }
    const TensorSpec& followed = spec.inputs[*input.follows];
    const int64_t expected =
        row[*input.follows].dims[*VaryingDim(followed.dims)];
    const int64_t found = row[i].dims[*VaryingDim(input.dims)];
    if (found != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected input '", input.name, "' of the size of '",
                       followed.name, "', ", expected, ", got ", found));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RowOf(const WarmUpSample& sample, const ModelSpec& spec,
                   std::vector<RowInput>& row) {
  size_t found = 0;
  for (const TensorSpec& input : spec.inputs) {
    const auto given = sample.inputs.find(input.name);
    if (given != sample.inputs.end() && given->second.type == input.type &&
        MatchesSizes(input.dims, given->second.dims)) {
      row.push_back(
          {.dims = given->second.dims, .bytes = *given->second.bytes});
      ++found;
    } else if (given == sample.inputs.end() && input.is_optional) {
      row.push_back({.is_given = false, .dims = {}, .bytes = {}});
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected input '", input.name, "' as ", DataTypeName(input.type),
          " [", absl::StrJoin(input.dims, ","), "]"));
    }
  }
  if (found != sample.inputs.size()) {
    return absl::InvalidArgumentError(
        "expected inputs of the model, got others too");
  }
  return CheckFollowers(spec, row);
}

}  // namespace ferry
