// Right requests from the pool's maker; wrong ones are right ones, broken.
#include "bench/soak/soak_requests.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

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

}  // namespace

absl::StatusOr<PreparedSoak> PrepareSoak(const ModelClient& client,
                                         const ModelDescription& description,
                                         const RequestPoolOptions& options,
                                         int32_t max_rows) {
  PreparedSoak soak;
  uint64_t seed = options.seed;
  const int32_t largest =
      std::max(1, std::min(max_rows, description.config.max_batch_size()));
  for (int32_t rows = 1; rows <= largest; ++rows) {
    RequestPoolOptions of_rows = options;
    of_rows.rows = rows;
    for (int32_t i = 0; i < kRequestsPerRowCount; ++i) {
      const auto request = MakeRequest(description.metadata, description.config,
                                       of_rows, seed++);
      if (!request.ok()) {
        return request.status();
      }
      auto reference = client.Infer(Serialize(*request), kReplyLimit);
      if (!reference.ok()) {
        return reference.status();
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
