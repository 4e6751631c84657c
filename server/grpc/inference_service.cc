// Implements InferenceService: answers the small RPCs.
#include "server/grpc/inference_service.h"

#include <string>

#include "models/config/model_config.h"
#include "server/control/model_messages.h"
#include "server/grpc/repository_answers.h"
#include "server/grpc/settings_answers.h"
#include "server/grpc/status.h"
#include "server/version.h"

namespace ferry {
namespace {

constexpr char kNoCudaSharedMemory[] =
    "CUDA shared memory is not offered, as it was tried on no device; use "
    "system shared memory (--allow-client-shm), or the messages";

// How a client calls the RPC.
template <typename Request, typename Response>
using AskForCall = grpc::Status (Rpc::StubInterface::*)(grpc::ClientContext*,
                                                        const Request&,
                                                        Response*);

// A config as JSON, and the name of the model.
constexpr size_t kMaxLoadMessageBytes = kMaxConfigBytes + kMaxSmallMessageBytes;

}  // namespace

InferenceService::InferenceService(ModelTable& models, ModelControl& control,
                                   const Readiness& readiness,
                                   UnsentReplies& unsent, CallTeller tell,
                                   RegionAccess shared_memory)
    : UnaryService(unsent, std::move(tell)),
      models_(models),
      control_(control),
      readiness_(readiness),
      shared_memory_(std::move(shared_memory)),
      model_infer_index_(inference::ModelInferRequest::descriptor()
                             ->file()
                             ->FindServiceByName("GRPCInferenceService")
                             ->FindMethodByName("ModelInfer")
                             ->index()) {}

void InferenceService::PostCalls(grpc::ServerCompletionQueue& queue) {
  PostOffered(queue);
  PostModelControl(queue);
  PostSettings(queue);
  if (shared_memory_.regions != nullptr) {
    PostSharedMemory(queue);
  }
  PostNotOffered(queue);
}

void InferenceService::PostOffered(grpc::ServerCompletionQueue& queue) {
  const auto post = [&]<typename Request, typename Response>(grpc::Status (
                        InferenceService::*answer)(const Request&, Response&)) {
    PostUnaryCalls<Request, Response>(
        queue, [this, answer](const Request& request, Response& response) {
          return (this->*answer)(request, response);
        });
  };
  post(&InferenceService::AnswerServerLive);
  post(&InferenceService::AnswerServerReady);
  post(&InferenceService::AnswerModelReady);
  post(&InferenceService::AnswerServerMetadata);
  post(&InferenceService::AnswerModelMetadata);
  post(&InferenceService::AnswerModelConfig);
  post(&InferenceService::AnswerModelStatistics);
}

void InferenceService::PostSettings(grpc::ServerCompletionQueue& queue) {
  PostUnaryCalls<inference::TraceSettingRequest,
                 inference::TraceSettingResponse>(
      queue, [this](const auto& request, auto& response) {
        return AnswerTraceSetting(models_, request, response);
      });
  PostUnaryCalls<inference::LogSettingsRequest, inference::LogSettingsResponse>(
      queue, &AnswerLogSettings);
}

void InferenceService::PostModelControl(grpc::ServerCompletionQueue& queue) {
  PostLateCalls<inference::RepositoryIndexRequest,
                inference::RepositoryIndexResponse>(
      queue, [this](const auto& request, auto& response, const auto&,
                    const auto& reply) {
        AnswerRepositoryIndex(control_, request, response, reply);
      });
  PostLateCalls<inference::RepositoryModelLoadRequest,
                inference::RepositoryModelLoadResponse>(
      queue,
      [this](const auto& request, auto&, const auto&, const auto& reply) {
        AnswerModelLoad(control_, request, reply);
      },
      kMaxLoadMessageBytes);
  PostLateCalls<inference::RepositoryModelUnloadRequest,
                inference::RepositoryModelUnloadResponse>(
      queue,
      [this](const auto& request, auto&, const auto&, const auto& reply) {
        AnswerModelUnload(control_, request, reply);
      });
}

void InferenceService::PostSharedMemory(grpc::ServerCompletionQueue& queue) {
  PostUnaryCalls<inference::SystemSharedMemoryRegisterRequest,
                 inference::SystemSharedMemoryRegisterResponse>(
      queue,
      [this](const auto& request, auto&, const grpc::ServerContext& call) {
        return AnswerRegionRegister(shared_memory_, call, request);
      });
  PostUnaryCalls<inference::SystemSharedMemoryStatusRequest,
                 inference::SystemSharedMemoryStatusResponse>(
      queue, [this](const auto& request, auto& response,
                    const grpc::ServerContext& call) {
        return AnswerRegionStatus(shared_memory_, call, request, response);
      });
  PostLateCalls<inference::SystemSharedMemoryUnregisterRequest,
                inference::SystemSharedMemoryUnregisterResponse>(
      queue,
      [this](const auto& request, auto&, const auto& call, const auto& reply) {
        AnswerRegionUnregister(shared_memory_, call, request, reply);
      });
}

void InferenceService::PostNotOffered(grpc::ServerCompletionQueue& queue) {
  const auto post = [&]<typename Request, typename Response>(
                        AskForCall<Request, Response>, const char* why) {
    PostUnaryCalls<Request, Response>(queue, [why](const auto&, auto&) {
      return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, why);
    });
  };
  if (shared_memory_.regions == nullptr) {
    post(&Rpc::StubInterface::SystemSharedMemoryStatus, kNoSharedMemory);
    post(&Rpc::StubInterface::SystemSharedMemoryRegister, kNoSharedMemory);
    post(&Rpc::StubInterface::SystemSharedMemoryUnregister, kNoSharedMemory);
  }
  post(&Rpc::StubInterface::CudaSharedMemoryStatus, kNoCudaSharedMemory);
  post(&Rpc::StubInterface::CudaSharedMemoryRegister, kNoCudaSharedMemory);
  post(&Rpc::StubInterface::CudaSharedMemoryUnregister, kNoCudaSharedMemory);
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
  const absl::StatusOr<bool> ready =
      IsModelReady(models_, readiness_, request.name(), request.version());
  if (!ready.ok()) {
    return ToGrpcStatus(ready.status());
  }
  response.set_ready(*ready);
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerServerMetadata(
    const inference::ServerMetadataRequest&,
    inference::ServerMetadataResponse& response) {
  FillServerMetadata(response);
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelMetadata(
    const inference::ModelMetadataRequest& request,
    inference::ModelMetadataResponse& response) {
  absl::StatusOr<inference::ModelMetadataResponse> metadata =
      FindMetadata(models_, request.name(), request.version());
  if (!metadata.ok()) {
    return ToGrpcStatus(metadata.status());
  }
  response = *std::move(metadata);
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelConfig(
    const inference::ModelConfigRequest& request,
    inference::ModelConfigResponse& response) {
  const absl::StatusOr<ModelUse> entry =
      models_.Find(request.name(), request.version());
  if (!entry.ok()) {
    return ToGrpcStatus(entry.status());
  }
  *response.mutable_config() = (*entry)->model().config;
  return grpc::Status::OK;
}

grpc::Status InferenceService::AnswerModelStatistics(
    const inference::ModelStatisticsRequest& request,
    inference::ModelStatisticsResponse& response) {
  ModelUse wanted;  // none: all that bear the name
  if (!request.name().empty()) {
    absl::StatusOr<ModelUse> entry =
        models_.Find(request.name(), request.version());
    if (!entry.ok()) {
      return ToGrpcStatus(entry.status());
    }
    if (!request.version().empty()) {
      wanted = *std::move(entry);
    }
  } else if (!request.version().empty()) {
    return ToGrpcStatus(absl::InvalidArgumentError(
        "model version: expected a model name with it, got none"));
  }
  for (const CountedVersion& version : models_.Count()) {
    const bool has_name =
        request.name().empty() || version.name == request.name();
    if (version.use && has_name && (!wanted || &*wanted == &*version.use)) {
      FillModelStatistics(*version.use, version.counts, Clock::Steady().Now(),
                          *response.add_model_stats());
    }
  }
  return grpc::Status::OK;
}

}  // namespace ferry
