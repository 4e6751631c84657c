// Implements ModelClient: blocking calls, each with a deadline.
#include "bench/client/model_client.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/event_count.h"
#include "base/printable_text.h"

namespace ferry::bench {
namespace {

constexpr Duration kReadyPoll = std::chrono::milliseconds(100);
constexpr Duration kIndexLimit = std::chrono::seconds(1);
constexpr size_t kMostNamed = 500;  // characters of a reason, of all models
constexpr char kSimulatedPlatform[] = "ferry_sim";
constexpr char kReady[] = "READY";

}  // namespace

int32_t ModelDescription::instance_count() const {
  if (!has_config) {
    return 0;
  }
  int32_t instances = 0;
  for (const auto& group : config.instance_group()) {
    instances += std::max(group.count(), 1);
  }
  return std::max(instances, 1);
}

std::string ModelDescription::instances() const {
  std::vector<std::string> groups;
  for (const auto& group : config.instance_group()) {
    groups.push_back(absl::StrCat(
        std::max(group.count(), 1), " x ",
        inference::ModelInstanceGroup::Kind_Name(group.kind()),
        group.gpus().empty() ? "" : " on ", absl::StrJoin(group.gpus(), " ")));
  }
  return absl::StrJoin(groups, ", ");
}

std::string ModelDescription::ConfigBytes() const {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);  // maps in order of their keys
  Check(config.SerializeToCodedStream(&out), "a message fits a string");
  out.Trim();
  return bytes;
}

bool ModelDescription::is_simulated() const {
  return config.backend() == kSimulatedPlatform ||
         config.platform() == kSimulatedPlatform ||
         metadata.platform() == kSimulatedPlatform;
}

ModelClient::ModelClient(std::string address, std::string model,
                         ConnectionOptions connection)
    : address_(std::move(address)),
      model_(std::move(model)),
      connection_(std::move(connection)),
      channel_(MakeChannel(address_, connection_)),
      stub_(inference::GRPCInferenceService::NewStub(channel_)) {}

absl::Status ModelClient::AwaitReady(Duration limit) const {
  const TimePoint until = Clock::Steady().Now() + limit;
  EventCount never_notified;
  while (true) {
    inference::ModelReadyRequest request;
    request.set_name(model_);
    const auto reply = Call(&Stub::ModelReady, request, "ModelReady");
    if (reply.ok() && reply->ready()) {
      return absl::OkStatus();
    }
    const TimePoint now = Clock::Steady().Now();
    if (now >= until) {
      return reply.ok() ? absl::UnavailableError(
                              absl::StrCat("model '", model_, "' at ", address_,
                                           " is not ready", WhyNotReady()))
                        : reply.status();
    }
    const TimePoint again = std::min(until, now + kReadyPoll);
    // A call that fails at once polls nothing: a refused client would get
    // another connection only when gRPC itself polls, after seconds.
    channel_->WaitForConnected(DeadlineIn(again - now));
    never_notified.Wait(never_notified.PrepareWait(), again);
  }
}

std::string ModelClient::WhyNotReady() const {
  const auto index =
      Call(&Stub::RepositoryIndex, {}, "RepositoryIndex", kIndexLimit);
  if (!index.ok()) {
    return "";  // not all servers have one
  }
  std::set<std::string> names;
  std::string why;  // of the last version, which is the one that is wanted
  for (const auto& one : index->models()) {
    names.insert(one.name());
    if (one.name() == model_) {
      const std::string& state = one.state();
      why = absl::StrCat(state.empty() ? "it was never loaded"
                         : state == kReady
                             ? "it is loaded, but the server takes no requests"
                             : state,
                         one.reason().empty() ? "" : ": ", one.reason());
    }
  }
  if (!why.empty()) {
    return ": " + PrintableText(why, kMostNamed);
  }
  return absl::StrCat(
      ": the server has no model of that name, ",
      names.empty()
          ? "nor any other"
          : "it has " + PrintableText(absl::StrJoin(names, ", "), kMostNamed));
}

absl::StatusOr<ModelDescription> ModelClient::Describe() const {
  const auto server = Call(&Stub::ServerMetadata, {}, "ServerMetadata");
  if (!server.ok()) {
    return server.status();
  }
  inference::ModelMetadataRequest metadata_request;
  metadata_request.set_name(model_);
  auto metadata = Call(&Stub::ModelMetadata, metadata_request, "ModelMetadata");
  if (!metadata.ok()) {
    return metadata.status();
  }
  inference::ModelConfigRequest config_request;
  config_request.set_name(model_);
  auto config = Call(&Stub::ModelConfig, config_request, "ModelConfig");
  if (!config.ok() && !absl::IsUnimplemented(config.status())) {
    return config.status();
  }
  return ModelDescription{
      .server_name = server->name(),
      .server_version = server->version(),
      .server_extensions = {server->extensions().begin(),
                            server->extensions().end()},
      .has_statistics =
          std::find(server->extensions().begin(), server->extensions().end(),
                    "statistics") != server->extensions().end(),
      .metadata = *std::move(metadata),
      .has_config = config.ok(),
      .config = config.ok() ? std::move(*config->mutable_config())
                            : inference::ModelConfig()};
}

absl::StatusOr<inference::ModelStatisticsResponse> ModelClient::Statistics()
    const {
  inference::ModelStatisticsRequest request;
  request.set_name(model_);
  return Call(&Stub::ModelStatistics, request, "ModelStatistics");
}

absl::StatusOr<inference::ModelInferResponse> ModelClient::Infer(
    const grpc::ByteBuffer& request, Duration limit) const {
  inference::ModelInferRequest parsed;
  grpc::ByteBuffer bytes = request;
  grpc::ProtoBufferReader reader(&bytes);
  if (!parsed.ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError("the request does not parse");
  }
  return Call(&Stub::ModelInfer, parsed, "ModelInfer", limit);
}

absl::Status ModelClient::RegisterRegion(const std::string& region,
                                         const std::string& key,
                                         uint64_t bytes) const {
  inference::SystemSharedMemoryRegisterRequest request;
  request.set_name(region);
  request.set_key(key);
  request.set_byte_size(bytes);
  return Call(&Stub::SystemSharedMemoryRegister, request,
              "SystemSharedMemoryRegister")
      .status();
}

absl::Status ModelClient::UnregisterRegion(const std::string& region) const {
  inference::SystemSharedMemoryUnregisterRequest request;
  request.set_name(region);
  return Call(&Stub::SystemSharedMemoryUnregister, request,
              "SystemSharedMemoryUnregister")
      .status();
}

template <typename Request, typename Reply>
absl::StatusOr<Reply> ModelClient::Call(
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
    const std::type_identity_t<Request>& request, const char* name,
    Duration limit) const {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(limit));
  AddHeaders(connection_, context);
  Reply reply;
  const grpc::Status status = (stub_.get()->*method)(&context, request, &reply);
  if (!status.ok()) {
    return Convert(status, name);
  }
  return reply;
}

absl::Status ModelClient::Convert(const grpc::Status& status,
                                  const char* call) const {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  return absl::Status(
      code, absl::StrCat(call, " for model '", model_, "' at ", address_, ": ",
                         absl::StatusCodeToString(code), ": ",
                         PrintableText(status.error_message())));
}

}  // namespace ferry::bench
