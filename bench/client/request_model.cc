// Implements ModelOfRequests(): derives row shapes from metadata alone.
#include "bench/client/request_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry::bench {
namespace {

using Tensor = inference::ModelMetadataResponse::TensorMetadata;

bool IsLedByAny(const Tensor& input) {
  return input.shape_size() > 0 && input.shape(0) == -1;
}

// Whether --shape gives all sizes of that input.
bool IsGivenWhole(const Tensor& input, const RequestPoolOptions& options) {
  const auto given = options.shapes.find(input.name());
  return given != options.shapes.end() &&
         given->second.size() == static_cast<size_t>(input.shape_size());
}

// Whether the rows stand where a -1 is.
bool HasRows(const Tensor& input, const RequestPoolOptions& options) {
  return IsLedByAny(input) && !IsGivenWhole(input, options);
}

// Puts the rows before what is given or known of one row.
void SetRows(Tensor& input, RequestPoolOptions& options) {
  if (const auto given = options.shapes.find(input.name());
      given != options.shapes.end()) {
    given->second.insert(given->second.begin(), options.rows);
  } else {
    input.set_shape(0, options.rows);
  }
}

// REQUIRES: no input has rows where a -1 is.
absl::Status CheckRows(const inference::ModelMetadataResponse& metadata,
                       const RequestPoolOptions& options) {
  if (options.rows == 1) {
    return absl::OkStatus();
  }
  for (const Tensor& input : metadata.inputs()) {
    const auto given = options.shapes.find(input.name());
    const std::vector<int64_t> dims =
        given != options.shapes.end()
            ? given->second
            : std::vector<int64_t>(input.shape().begin(), input.shape().end());
    if (dims.empty() || dims.front() != options.rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--rows: expected ",
          dims.empty() ? "1" : absl::StrCat("1 or ", dims.front()),
          ", as input '", input.name(), "' of model '", metadata.name(),
          "' has shape [", absl::StrJoin(dims, ","),
          "] and its server no ModelConfig that tells of a batch dimension; "
          "found ",
          options.rows));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RequestModel> ModelOfRequests(
    const ModelDescription& description, const RequestPoolOptions& options) {
  RequestModel model = {description.metadata, description.config, options};
  if (description.has_config) {
    return model;
  }
  auto& inputs = *model.metadata.mutable_inputs();
  if (inputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata of model '", model.metadata.name(),
        "': expected its inputs, by which requests are made; found none"));
  }
  const auto has_rows = [&](const Tensor& input) {
    return HasRows(input, options);
  };
  if (std::all_of(inputs.begin(), inputs.end(), has_rows)) {
    model.config.set_max_batch_size(1);  // any bound: it has the dimension
    return model;
  }
  if (std::none_of(inputs.begin(), inputs.end(), has_rows)) {
    if (absl::Status status = CheckRows(model.metadata, options);
        !status.ok()) {
      return status;
    }
  }
  for (Tensor& input : inputs) {
    if (has_rows(input)) {
      SetRows(input, model.options);
    }
  }
  return model;
}

}  // namespace ferry::bench
