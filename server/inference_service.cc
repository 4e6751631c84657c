// The small RPCs.
#include "server/inference_service.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/model_messages.h"
#include "server/status.h"
#include "server/version.h"

namespace ferry {
namespace {

using grpc::ServerUnaryReactor;

ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                           const grpc::Status& status) {
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

ServerUnaryReactor* FinishOk(grpc::CallbackServerContext* context) {
  return Finish(context, grpc::Status::OK);
}

ServerUnaryReactor* Fail(grpc::CallbackServerContext* context,
                         const absl::Status& status) {
  return Finish(context, ToGrpcStatus(status, StatusCodes::kFerry));
}

ServerUnaryReactor* NotOffered(grpc::CallbackServerContext* context,
                               const char* why) {
  return Finish(context, grpc::Status(grpc::StatusCode::UNIMPLEMENTED, why));
}

constexpr char kNoSharedMemory[] =
    "shared memory is not supported; send and receive tensors in the messages";
constexpr char kNoModelControl[] =
    "the set of models is fixed when the server starts; models cannot be "
    "loaded or unloaded while it runs";
constexpr char kNoSettings[] =
    "settings cannot be read or changed over the network";

// Ends a stream at once.
class RefusedStream final
    : public grpc::ServerBidiReactor<inference::ModelInferRequest,
                                     inference::ModelStreamInferResponse> {
 public:
  explicit RefusedStream(const char* why) {
    Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, why));
  }
  void OnDone() override { delete this; }
};

}  // namespace

ServerUnaryReactor* InferenceService::ServerLive(
    Context* context, const inference::ServerLiveRequest*,
    inference::ServerLiveResponse* response) {
  response->set_live(readiness_.is_live());
  return FinishOk(context);
}

ServerUnaryReactor* InferenceService::ServerReady(
    Context* context, const inference::ServerReadyRequest*,
    inference::ServerReadyResponse* response) {
  response->set_ready(readiness_.is_ready());
  return FinishOk(context);
}

ServerUnaryReactor* InferenceService::ModelReady(
    Context* context, const inference::ModelReadyRequest* request,
    inference::ModelReadyResponse* response) {
  const absl::StatusOr<ModelEntry*> entry =
      models_.Find(request->name(), request->version());
  if (!entry.ok()) {
    return Fail(context, entry.status());
  }
  response->set_ready(readiness_.is_ready() &&
                      !(*entry)->model.batcher->broken());
  return FinishOk(context);
}

ServerUnaryReactor* InferenceService::ServerMetadata(
    Context* context, const inference::ServerMetadataRequest*,
    inference::ServerMetadataResponse* response) {
  response->set_name("ferry");
  response->set_version(kVersion);
  response->add_extensions("model_configuration");
  response->add_extensions("statistics");
  return FinishOk(context);
}

ServerUnaryReactor* InferenceService::ModelMetadata(
    Context* context, const inference::ModelMetadataRequest* request,
    inference::ModelMetadataResponse* response) {
  const absl::StatusOr<ModelEntry*> entry =
      models_.Find(request->name(), request->version());
  if (!entry.ok()) {
    return Fail(context, entry.status());
  }
  FillModelMetadata((*entry)->model, *response);
  for (const ModelEntry& other : models_.entries()) {
    if (other.model.name == request->name() &&
        (request->version().empty() || &other == *entry)) {
      response->add_versions(other.version);
    }
  }
  return FinishOk(context);
}

ServerUnaryReactor* InferenceService::ModelConfig(
    Context* context, const inference::ModelConfigRequest* request,
    inference::ModelConfigResponse* response) {
  const absl::StatusOr<ModelEntry*> entry =
      models_.Find(request->name(), request->version());
  if (!entry.ok()) {
    return Fail(context, entry.status());
  }
  *response->mutable_config() = (*entry)->model.config;
  return FinishOk(context);
}

ServerUnaryReactor* InferenceService::ModelStatistics(
    Context* context, const inference::ModelStatisticsRequest* request,
    inference::ModelStatisticsResponse* response) {
  const ModelEntry* wanted = nullptr;  // null: all that bear the name
  if (!request->name().empty()) {
    const absl::StatusOr<ModelEntry*> entry =
        models_.Find(request->name(), request->version());
    if (!entry.ok()) {
      return Fail(context, entry.status());
    }
    wanted = request->version().empty() ? nullptr : *entry;
  } else if (!request->version().empty()) {
    return Fail(context,
                absl::InvalidArgumentError(
                    "model version: expected a model name with it, got none"));
  }
  for (const ModelEntry& entry : models_.entries()) {
    const bool has_name =
        request->name().empty() || entry.model.name == request->name();
    if (has_name && (wanted == nullptr || wanted == &entry)) {
      FillModelStatistics(entry.model, entry.model.batcher->Snapshot(),
                          Clock::Steady().Now(), *response->add_model_stats());
    }
  }
  return FinishOk(context);
}

// --- not offered -----------------------------------------------------------

grpc::ServerBidiReactor<inference::ModelInferRequest,
                        inference::ModelStreamInferResponse>*
InferenceService::ModelStreamInfer(Context*) {
  return new RefusedStream("streams are not supported; use ModelInfer");
}

ServerUnaryReactor* InferenceService::RepositoryIndex(
    Context* context, const inference::RepositoryIndexRequest*,
    inference::RepositoryIndexResponse*) {
  return NotOffered(context, kNoModelControl);
}

ServerUnaryReactor* InferenceService::RepositoryModelLoad(
    Context* context, const inference::RepositoryModelLoadRequest*,
    inference::RepositoryModelLoadResponse*) {
  return NotOffered(context, kNoModelControl);
}

ServerUnaryReactor* InferenceService::RepositoryModelUnload(
    Context* context, const inference::RepositoryModelUnloadRequest*,
    inference::RepositoryModelUnloadResponse*) {
  return NotOffered(context, kNoModelControl);
}

ServerUnaryReactor* InferenceService::SystemSharedMemoryStatus(
    Context* context, const inference::SystemSharedMemoryStatusRequest*,
    inference::SystemSharedMemoryStatusResponse*) {
  return NotOffered(context, kNoSharedMemory);
}

ServerUnaryReactor* InferenceService::SystemSharedMemoryRegister(
    Context* context, const inference::SystemSharedMemoryRegisterRequest*,
    inference::SystemSharedMemoryRegisterResponse*) {
  return NotOffered(context, kNoSharedMemory);
}

ServerUnaryReactor* InferenceService::SystemSharedMemoryUnregister(
    Context* context, const inference::SystemSharedMemoryUnregisterRequest*,
    inference::SystemSharedMemoryUnregisterResponse*) {
  return NotOffered(context, kNoSharedMemory);
}

ServerUnaryReactor* InferenceService::CudaSharedMemoryStatus(
    Context* context, const inference::CudaSharedMemoryStatusRequest*,
    inference::CudaSharedMemoryStatusResponse*) {
  return NotOffered(context, kNoSharedMemory);
}

ServerUnaryReactor* InferenceService::CudaSharedMemoryRegister(
    Context* context, const inference::CudaSharedMemoryRegisterRequest*,
    inference::CudaSharedMemoryRegisterResponse*) {
  return NotOffered(context, kNoSharedMemory);
}

ServerUnaryReactor* InferenceService::CudaSharedMemoryUnregister(
    Context* context, const inference::CudaSharedMemoryUnregisterRequest*,
    inference::CudaSharedMemoryUnregisterResponse*) {
  return NotOffered(context, kNoSharedMemory);
}

ServerUnaryReactor* InferenceService::TraceSetting(
    Context* context, const inference::TraceSettingRequest*,
    inference::TraceSettingResponse*) {
  return NotOffered(context, kNoSettings);
}

ServerUnaryReactor* InferenceService::LogSettings(
    Context* context, const inference::LogSettingsRequest*,
    inference::LogSettingsResponse*) {
  return NotOffered(context, kNoSettings);
}

}  // namespace ferry
