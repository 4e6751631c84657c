// Implements AdminService: turns RuntimeOptions to and from their message, and
// the readiness to draining.
#include "server/grpc/admin_service.h"

#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/client_text.h"
#include "server/grpc/status.h"

namespace ferry {
namespace {

constexpr int64_t kMaxMicroseconds = std::numeric_limits<int64_t>::max() / 1000;

v1::RuntimeOptions ToMessage(const RuntimeOptions& runtime_options) {
  v1::RuntimeOptions message;
  message.set_max_batch_size(runtime_options.max_batch_size);
  message.set_policy(PolicyName(runtime_options.policy));
  message.set_max_wait_microseconds(
      std::chrono::duration_cast<std::chrono::microseconds>(
          runtime_options.max_wait)
          .count());
  message.set_queue_requests(runtime_options.queue.requests);
  message.set_queue_rows(runtime_options.queue.rows);
  message.set_queue_bytes(runtime_options.queue.bytes);
  return message;
}

// Ranges are the scheduler's to check.
absl::Status Apply(const v1::RuntimeOptions& message,
                   RuntimeOptions& runtime_options) {
  if (message.has_policy()) {
    const std::optional<PolicyKind> policy = ParsePolicy(message.policy());
    if (!policy.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy: expected 'eager', 'window' or 'adaptive', got "
                       "'",
                       Shown(message.policy()), "'"));
    }
    runtime_options.policy = *policy;
  }
  if (message.has_max_batch_size()) {
    runtime_options.max_batch_size = message.max_batch_size();
  }
  if (message.has_max_wait_microseconds()) {
    const int64_t micros = message.max_wait_microseconds();
    if (micros > kMaxMicroseconds || micros < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_wait_microseconds: expected 0 to ",
                       kMaxMicroseconds, ", got ", micros));
    }
    runtime_options.max_wait = std::chrono::microseconds(micros);
  }
  if (message.has_queue_requests()) {
    runtime_options.queue.requests = message.queue_requests();
  }
  if (message.has_queue_rows()) {
    runtime_options.queue.rows = message.queue_rows();
  }
  if (message.has_queue_bytes()) {
    runtime_options.queue.bytes = message.queue_bytes();
  }
  return absl::OkStatus();
}

}  // namespace

void AdminService::PostCalls(grpc::ServerCompletionQueue& queue) {
  PostUnaryCalls<v1::GetRuntimeOptionsRequest, v1::GetRuntimeOptionsResponse>(
      queue, [this](const auto& request, auto& response) {
        return AnswerGetRuntimeOptions(request, response);
      });
  PostUnaryCalls<v1::SetRuntimeOptionsRequest, v1::SetRuntimeOptionsResponse>(
      queue, [this](const auto& request, auto& response) {
        return AnswerSetRuntimeOptions(request, response);
      });
  PostUnaryCalls<v1::DrainRequest, v1::DrainResponse>(
      queue, [this](const v1::DrainRequest&, v1::DrainResponse&) {
        readiness_.MoveTo(ServerState::kDraining);  // the main thread sees it
        return grpc::Status::OK;
      });
}

grpc::Status AdminService::AnswerGetRuntimeOptions(
    const v1::GetRuntimeOptionsRequest& request,
    v1::GetRuntimeOptionsResponse& response) {
  const absl::StatusOr<ModelUse> entry =
      models_.Find(request.model_name(), request.model_version());
  if (!entry.ok()) {
    return ToGrpcStatus(entry.status());
  }
  *response.mutable_runtime_options() =
      ToMessage((*entry)->model().scheduler->runtime_options());
  return grpc::Status::OK;
}

grpc::Status AdminService::AnswerSetRuntimeOptions(
    const v1::SetRuntimeOptionsRequest& request,
    v1::SetRuntimeOptionsResponse& response) {
  const absl::StatusOr<ModelUse> entry =
      models_.Find(request.model_name(), request.model_version());
  if (!entry.ok()) {
    return ToGrpcStatus(entry.status());
  }
  Scheduler& scheduler = *(*entry)->model().scheduler;
  RuntimeOptions runtime_options = scheduler.runtime_options();
  absl::Status status = Apply(request.runtime_options(), runtime_options);
  if (status.ok()) {
    status = scheduler.SetRuntimeOptions(runtime_options);
  }
  if (!status.ok()) {
    return ToGrpcStatus(status);
  }
  *response.mutable_runtime_options() = ToMessage(scheduler.runtime_options());
  return grpc::Status::OK;
}

}  // namespace ferry
