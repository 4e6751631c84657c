// Blocking calls, each with a deadline.
#include "bench/model_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "batcher/event_count.h"

namespace ferry::bench {
namespace {

constexpr Duration kCallLimit = std::chrono::milliseconds(10000);
constexpr Duration kReadyPoll = std::chrono::milliseconds(100);
constexpr char kSimulatedPlatform[] = "ferry_sim";

}  // namespace

int32_t ModelDescription::lanes() const {
  int32_t lanes = 0;
  for (const auto& group : config.instance_group()) {
    lanes += std::max(group.count(), 1);
  }
  return std::max(lanes, 1);
}

bool ModelDescription::is_simulated() const {
  return config.backend() == kSimulatedPlatform ||
         config.platform() == kSimulatedPlatform ||
         metadata.platform() == kSimulatedPlatform;
}

grpc::ChannelArguments BenchChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return arguments;
}

gpr_timespec DeadlineIn(Duration limit) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(limit.count(), GPR_TIMESPAN));
}

ModelClient::ModelClient(std::string address, std::string model)
    : address_(std::move(address)),
      model_(std::move(model)),
      channel_(grpc::CreateCustomChannel(address_,
                                         grpc::InsecureChannelCredentials(),
                                         BenchChannelArguments())),
      stub_(inference::GRPCInferenceService::NewStub(channel_)) {}

absl::Status ModelClient::AwaitReady(Duration limit) const {
  const TimePoint until = Clock::Steady().Now() + limit;
  EventCount never_notified;
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(kCallLimit));
    inference::ModelReadyRequest request;
    request.set_name(model_);
    inference::ModelReadyResponse reply;
    const grpc::Status status = stub_->ModelReady(&context, request, &reply);
    if (status.ok() && reply.ready()) {
      return absl::OkStatus();
    }
    const TimePoint now = Clock::Steady().Now();
    if (now >= until) {
      return status.ok()
                 ? absl::UnavailableError(absl::StrCat(
                       "model '", model_, "' at ", address_, " is not ready"))
                 : Convert(status, "ModelReady");
    }
    const TimePoint again = std::min(until, now + kReadyPoll);
    never_notified.Wait(never_notified.PrepareWait(), again);
  }
}

absl::StatusOr<ModelDescription> ModelClient::Describe() const {
  ModelDescription description;
  {
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(kCallLimit));
    inference::ServerMetadataResponse reply;
    const grpc::Status status = stub_->ServerMetadata(&context, {}, &reply);
    if (!status.ok()) {
      return Convert(status, "ServerMetadata");
    }
    description.server_name = reply.name();
    description.server_version = reply.version();
    description.has_statistics =
        std::find(reply.extensions().begin(), reply.extensions().end(),
                  "statistics") != reply.extensions().end();
  }
  {
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(kCallLimit));
    inference::ModelMetadataRequest request;
    request.set_name(model_);
    const grpc::Status status =
        stub_->ModelMetadata(&context, request, &description.metadata);
    if (!status.ok()) {
      return Convert(status, "ModelMetadata");
    }
  }
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(kCallLimit));
  inference::ModelConfigRequest request;
  request.set_name(model_);
  inference::ModelConfigResponse reply;
  const grpc::Status status = stub_->ModelConfig(&context, request, &reply);
  if (!status.ok()) {
    return Convert(status, "ModelConfig");
  }
  description.config = std::move(*reply.mutable_config());
  return description;
}

absl::StatusOr<inference::ModelStatisticsResponse> ModelClient::Statistics()
    const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(kCallLimit));
  inference::ModelStatisticsRequest request;
  request.set_name(model_);
  inference::ModelStatisticsResponse reply;
  const grpc::Status status = stub_->ModelStatistics(&context, request, &reply);
  if (!status.ok()) {
    return Convert(status, "ModelStatistics");
  }
  return reply;
}

absl::StatusOr<inference::ModelInferResponse> ModelClient::Infer(
    const grpc::ByteBuffer& request, Duration limit) const {
  inference::ModelInferRequest parsed;
  grpc::ByteBuffer bytes = request;
  grpc::ProtoBufferReader reader(&bytes);
  if (!parsed.ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError("the request does not parse");
  }
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(limit));
  inference::ModelInferResponse reply;
  const grpc::Status status = stub_->ModelInfer(&context, parsed, &reply);
  if (!status.ok()) {
    return Convert(status, "ModelInfer");
  }
  return reply;
}

absl::Status ModelClient::Convert(const grpc::Status& status,
                                  const char* call) const {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(call, " for model '", model_, "' at ",
                                   address_, ": ", status.error_message()));
}

}  // namespace ferry::bench
