// RuntimeOptions to and from their message.
#include "server/admin_service.h"

#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/client_text.h"
#include "server/status.h"
#include "server/unary_call.h"

namespace ferry {
namespace {

constexpr int64_t kMaxMicroseconds = std::numeric_limits<int64_t>::max() / 1000;

v1::Knobs ToMessage(const RuntimeOptions& knobs) {
  v1::Knobs message;
  message.set_max_batch_size(knobs.max_batch_size);
  message.set_policy(PolicyName(knobs.policy));
  message.set_max_wait_microseconds(
      std::chrono::duration_cast<std::chrono::microseconds>(knobs.max_wait)
          .count());
  message.set_queue_requests(knobs.queue.requests);
  message.set_queue_rows(knobs.queue.rows);
  message.set_queue_bytes(knobs.queue.bytes);
  return message;
}

// Ranges are the scheduler's to check.
absl::Status Apply(const v1::Knobs& message, RuntimeOptions& knobs) {
  if (message.has_policy()) {
    const std::optional<PolicyKind> policy = ParsePolicy(message.policy());
    if (!policy.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy: expected 'eager', 'window' or 'adaptive', got "
                       "'",
                       Shown(message.policy()), "'"));
    }
    knobs.policy = *policy;
  }
  if (message.has_max_batch_size()) {
    knobs.max_batch_size = message.max_batch_size();
  }
  if (message.has_max_wait_microseconds()) {
    const int64_t micros = message.max_wait_microseconds();
    if (micros > kMaxMicroseconds || micros < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_wait_microseconds: expected 0 to ",
                       kMaxMicroseconds, ", got ", micros));
    }
    knobs.max_wait = std::chrono::microseconds(micros);
  }
  if (message.has_queue_requests()) {
    knobs.queue.requests = message.queue_requests();
  }
  if (message.has_queue_rows()) {
    knobs.queue.rows = message.queue_rows();
  }
  if (message.has_queue_bytes()) {
    knobs.queue.bytes = message.queue_bytes();
  }
  return absl::OkStatus();
}

}  // namespace

void AdminService::PostCalls(grpc::ServerCompletionQueue& queue) {
  PostUnaryCalls(
      *this, &AdminService::RequestGetKnobs,
      [this](const auto& request, auto& response) {
        return AnswerGetKnobs(request, response);
      },
      queue);
  PostUnaryCalls(
      *this, &AdminService::RequestSetKnobs,
      [this](const auto& request, auto& response) {
        return AnswerSetKnobs(request, response);
      },
      queue);
}

grpc::Status AdminService::AnswerGetKnobs(const v1::GetKnobsRequest& request,
                                          v1::GetKnobsResponse& response) {
  const absl::StatusOr<ModelUse> entry =
      models_.Find(request.model_name(), request.model_version());
  if (!entry.ok()) {
    return ToGrpcStatus(entry.status());
  }
  *response.mutable_knobs() =
      ToMessage((*entry)->model().scheduler->runtime_options());
  return grpc::Status::OK;
}

grpc::Status AdminService::AnswerSetKnobs(const v1::SetKnobsRequest& request,
                                          v1::SetKnobsResponse& response) {
  const absl::StatusOr<ModelUse> entry =
      models_.Find(request.model_name(), request.model_version());
  if (!entry.ok()) {
    return ToGrpcStatus(entry.status());
  }
  Scheduler& scheduler = *(*entry)->model().scheduler;
  RuntimeOptions knobs = scheduler.runtime_options();
  absl::Status status = Apply(request.knobs(), knobs);
  if (status.ok()) {
    status = scheduler.SetRuntimeOptions(knobs);
  }
  if (!status.ok()) {
    return ToGrpcStatus(status);
  }
  *response.mutable_knobs() = ToMessage(scheduler.runtime_options());
  return grpc::Status::OK;
}

}  // namespace ferry
