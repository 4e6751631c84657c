// Implements PrepareSoak(): right requests from the pool's maker; wrong ones
// are right ones, broken.
#include "bench/soak/soak_requests.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/client/request_model.h"

namespace ferry::bench {
namespace {

constexpr int32_t kRequestsPerRowCount = 4;
constexpr Duration kReplyLimit = std::chrono::milliseconds(60000);

grpc::ByteBuffer Serialize(const inference::ModelInferRequest& request) {
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

std::vector<grpc::ByteBuffer> BreakEachWay(
    const inference::ModelInferRequest& right) {
  using Request = inference::ModelInferRequest;
  const std::vector<std::function<void(Request&)>> ways = {
      [](Request& r) { r.set_model_name("no_such_model"); },
      [](Request& r) { r.set_model_version("4711"); },
      [](Request& r) { r.mutable_inputs(0)->set_name("no_such_input"); },
      [](Request& r) { r.mutable_inputs(0)->set_datatype("FP99"); },
      [](Request& r) { r.mutable_inputs(0)->add_shape(2); },
      [](Request& r) { r.mutable_inputs(0)->set_shape(0, -5); },
      [](Request& r) { r.mutable_inputs(0)->set_shape(0, int64_t{1} << 62); },
      [](Request& r) { r.mutable_raw_input_contents(0)->pop_back(); },
      [](Request& r) { r.clear_raw_input_contents(); },
      [](Request& r) { r.clear_inputs(); },
      [](Request& r) { r.add_outputs()->set_name("no_such_output"); }};
  std::vector<grpc::ByteBuffer> wrong;
  for (const auto& way : ways) {
    Request request = right;
    way(request);
    wrong.push_back(Serialize(request));
  }
  return wrong;
}

// Rows of the largest request: what the model takes, where its server tells;
// else all, where it takes several.
int32_t LargestRows(const ModelDescription& description,
                    const RequestPoolOptions& options, int32_t max_rows) {
  if (description.has_config) {
    return std::clamp(description.config.max_batch_size(), 1, max_rows);
  }
  const auto takes = [&](int32_t rows) {
    RequestPoolOptions of_rows = options;
    of_rows.rows = rows;
    return ModelOfRequests(description, of_rows).ok();
  };
  // One of them alone may be the size of a whole shape.
  return takes(2) && takes(max_rows) ? max_rows : 1;
}

}  // namespace

absl::StatusOr<PreparedSoak> PrepareSoak(const ModelClient& client,
                                         const ModelDescription& description,
                                         const RequestPoolOptions& options,
                                         int32_t max_rows) {
  PreparedSoak soak;
  uint64_t seed = options.seed;
  const int32_t largest = LargestRows(description, options, max_rows);
  for (int32_t rows = 1; rows <= largest; ++rows) {
    RequestPoolOptions of_rows = options;
    of_rows.rows = rows;
    const auto model = ModelOfRequests(description, of_rows);
    if (!model.ok()) {
      return model.status();
    }
    for (int32_t i = 0; i < kRequestsPerRowCount; ++i) {
      const auto request =
          MakeRequest(model->metadata, model->config, model->options, seed++);
      if (!request.ok()) {
        return request.status();
      }
      auto reference = client.Infer(Serialize(*request), kReplyLimit);
      if (!reference.ok()) {
        return reference.status();
      }
      if (reference->raw_output_contents_size() != reference->outputs_size()) {
        return absl::UnimplementedError(absl::StrCat(
            "soak compares raw_output_contents: expected those of ",
            reference->outputs_size(), " outputs, found ",
            reference->raw_output_contents_size()));
      }
      if (soak.requests.wrong.empty() && request->inputs_size() > 0) {
        soak.requests.wrong = BreakEachWay(*request);
      }
      soak.requests.right.push_back(Serialize(*request));
      soak.references.push_back(std::move(*reference));
    }
  }
  return soak;
}

}  // namespace ferry::bench
