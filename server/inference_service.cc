// The small RPCs.
#include "server/inference_service.h"

#include <grpcpp/support/async_stream.h>

#include <string>

#include "server/model_messages.h"
#include "server/status.h"
#include "server/unary_call.h"
#include "server/version.h"

namespace ferry {
namespace {

constexpr char kNoSharedMemory[] =
    "shared memory is not supported; send and receive tensors in the messages";
constexpr char kNoModelControl[] =
    "the set of models is fixed when the server starts; models cannot be "
    "loaded or unloaded while it runs";
constexpr char kNoSettings[] =
    "settings cannot be read or changed over the network";
constexpr char kNoStreams[] = "streams are not supported; use ModelInfer";

grpc::Status Fail(const absl::Status& status) {
  return ToGrpcStatus(status, StatusCodes::kFerry);
}

// The answer of an RPC that is not offered.
auto NotOffered(const char* why) {
  return [why](const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, why);
  };
}

// A stream that is ended at once. Deletes itself.
class RefusedStream final : private QueueTag {
 public:
  RefusedStream(InferenceService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    service_.RequestModelStreamInfer(&context_, &stream_, &queue_, &queue_,
                                     Tag());
  }

 private:
  ~RefusedStream() = default;

  void* Tag() { return static_cast<QueueTag*>(this); }

  void Ended(bool ok) override {
    if (is_matched_ || !ok) {
      delete this;
      return;
    }
    is_matched_ = true;
    new RefusedStream(service_, queue_);
    stream_.Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, kNoStreams),
                   Tag());
  }

  InferenceService& service_;
  grpc::ServerCompletionQueue& queue_;
  bool is_matched_ = false;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<inference::ModelStreamInferResponse,
                                inference::ModelInferRequest>
      stream_{&context_};
};

}  // namespace

InferenceService::InferenceService(ModelTable& models,
                                   const Readiness& readiness)
    : models_(models),
      readiness_(readiness),
      model_infer_index_(inference::ModelInferRequest::descriptor()
                             ->file()
                             ->FindServiceByName("GRPCInferenceService")
                             ->FindMethodByName("ModelInfer")
                             ->index()) {}

void InferenceService::PostCalls(grpc::ServerCompletionQueue& queue) {
  PostOffered(queue);
  PostNotOffered(queue);
}

void InferenceService::PostOffered(grpc::ServerCompletionQueue& queue) {
  const auto post = [&](auto ask, auto answer) {
    PostUnaryCalls(
        *this, ask,
        [this, answer](const auto& request, auto& response) {
          return (this->*answer)(request, response);
        },
        queue);
  };
  post(&InferenceService::RequestServerLive,
       &InferenceService::AnswerServerLive);
  post(&InferenceService::RequestServerReady,
       &InferenceService::AnswerServerReady);
  post(&InferenceService::RequestModelReady,
       &InferenceService::AnswerModelReady);
  post(&InferenceService::RequestServerMetadata,
       &InferenceService::AnswerServerMetadata);
  post(&InferenceService::RequestModelMetadata,
       &InferenceService::AnswerModelMetadata);
  post(&InferenceService::RequestModelConfig,
       &InferenceService::AnswerModelConfig);
  post(&InferenceService::RequestModelStatistics,
       &InferenceService::AnswerModelStatistics);
}

void InferenceService::PostNotOffered(grpc::ServerCompletionQueue& queue) {
  const auto post = [&](auto ask, const char* why) {
    PostUnaryCalls(*this, ask, NotOffered(why), queue);
  };
  post(&InferenceService::RequestRepositoryIndex, kNoModelControl);
  post(&InferenceService::RequestRepositoryModelLoad, kNoModelControl);
  post(&InferenceService::RequestRepositoryModelUnload, kNoModelControl);
  post(&InferenceService::RequestSystemSharedMemoryStatus, kNoSharedMemory);
  post(&InferenceService::RequestSystemSharedMemoryRegister, kNoSharedMemory);
  post(&InferenceService::RequestSystemSharedMemoryUnregister, kNoSharedMemory);
  post(&InferenceService::RequestCudaSharedMemoryStatus, kNoSharedMemory);
  post(&InferenceService::RequestCudaSharedMemoryRegister, kNoSharedMemory);
  post(&InferenceService::RequestCudaSharedMemoryUnregister, kNoSharedMemory);
  post(&InferenceService::RequestTraceSetting, kNoSettings);
  post(&InferenceService::RequestLogSettings, kNoSettings);
  new RefusedStream(*this, queue);
}

grpc::Status InferenceService::AnswerServerLive(
    const inference::ServerLiveRequest&,
    inference::ServerLiveResponse& response) {
  response.set_live(readiness_.is_live());
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerServerReady(
    const inference::ServerReadyRequest&,
    inference::ServerReadyResponse& response) {
  response.set_ready(readiness_.is_ready());
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelReady(
    const inference::ModelReadyRequest& request,
    inference::ModelReadyResponse& response) {
  const absl::StatusOr<ModelEntry*> entry =
      models_.Find(request.name(), request.version());
  if (!entry.ok()) {
    return Fail(entry.status());
  }
  response.set_ready(readiness_.is_ready() &&
                     !(*entry)->model.batcher->broken());
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerServerMetadata(
    const inference::ServerMetadataRequest&,
    inference::ServerMetadataResponse& response) {
  response.set_name("ferry");
  response.set_version(kVersion);
  response.add_extensions("model_configuration");
  response.add_extensions("statistics");
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelMetadata(
    const inference::ModelMetadataRequest& request,
    inference::ModelMetadataResponse& response) {
  const absl::StatusOr<ModelEntry*> entry =
      models_.Find(request.name(), request.version());
  if (!entry.ok()) {
    return Fail(entry.status());
  }
  FillModelMetadata((*entry)->model, response);
  for (const ModelEntry& other : models_.entries()) {
    if (other.model.name == request.name() &&
        (request.version().empty() || &other == *entry)) {
      response.add_versions(other.version);
    }
  }
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelConfig(
    const inference::ModelConfigRequest& request,
    inference::ModelConfigResponse& response) {
  const absl::StatusOr<ModelEntry*> entry =
      models_.Find(request.name(), request.version());
  if (!entry.ok()) {
    return Fail(entry.status());
  }
  *response.mutable_config() = (*entry)->model.config;
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelStatistics(
    const inference::ModelStatisticsRequest& request,
    inference::ModelStatisticsResponse& response) {
  const ModelEntry* wanted = nullptr;  // null: all that bear the name
  if (!request.name().empty()) {
    const absl::StatusOr<ModelEntry*> entry =
        models_.Find(request.name(), request.version());
    if (!entry.ok()) {
      return Fail(entry.status());
    }
    wanted = request.version().empty() ? nullptr : *entry;
  } else if (!request.version().empty()) {
    return Fail(absl::InvalidArgumentError(
        "model version: expected a model name with it, got none"));
  }
  for (const ModelEntry& entry : models_.entries()) {
    const bool has_name =
        request.name().empty() || entry.model.name == request.name();
    if (has_name && (wanted == nullptr || wanted == &entry)) {
      FillModelStatistics(entry.model, entry.model.batcher->Snapshot(),
                          Clock::Steady().Now(), *response.add_model_stats());
    }
  }
  return grpc::Status::OK;
}

}  // namespace ferry
