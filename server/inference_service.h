// InferenceService: inference.GRPCInferenceService as gRPC sees it.
//
// ModelInfer is raw and asynchronous: InferQueues post for it and serve it.
// All else is small, typed and answered at once by the callback API. An RPC
// that Ferry does not offer answers UNIMPLEMENTED and says why.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_INFERENCE_SERVICE_H_
#define FERRY_SERVER_INFERENCE_SERVICE_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "batcher/clock.h"
#include "proto/inference.grpc.pb.h"
#include "server/grpc_infer_call.h"
#include "server/model_table.h"
#include "server/readiness.h"

namespace ferry {

using Rpc = inference::GRPCInferenceService;

// Each RPC but ModelInfer by the callback API.
using CallbackHealthRpcs =
    Rpc::WithCallbackMethod_ServerLive<Rpc::WithCallbackMethod_ServerReady<
        Rpc::WithCallbackMethod_ModelReady<Rpc::Service>>>;
using CallbackModelRpcs = Rpc::WithCallbackMethod_ServerMetadata<
    Rpc::WithCallbackMethod_ModelMetadata<Rpc::WithCallbackMethod_ModelConfig<
        Rpc::WithCallbackMethod_ModelStatistics<CallbackHealthRpcs>>>>;
using CallbackRepositoryRpcs = Rpc::WithCallbackMethod_RepositoryIndex<
    Rpc::WithCallbackMethod_RepositoryModelLoad<
        Rpc::WithCallbackMethod_RepositoryModelUnload<CallbackModelRpcs>>>;
using CallbackSystemMemoryRpcs =
    Rpc::WithCallbackMethod_SystemSharedMemoryStatus<
        Rpc::WithCallbackMethod_SystemSharedMemoryRegister<
            Rpc::WithCallbackMethod_SystemSharedMemoryUnregister<
                CallbackRepositoryRpcs>>>;
using CallbackCudaMemoryRpcs = Rpc::WithCallbackMethod_CudaSharedMemoryStatus<
    Rpc::WithCallbackMethod_CudaSharedMemoryRegister<
        Rpc::WithCallbackMethod_CudaSharedMemoryUnregister<
            CallbackSystemMemoryRpcs>>>;
using CallbackRpcs = Rpc::WithCallbackMethod_ModelStreamInfer<
    Rpc::WithCallbackMethod_TraceSetting<
        Rpc::WithCallbackMethod_LogSettings<CallbackCudaMemoryRpcs>>>;

class InferenceService final
    : public Rpc::WithRawMethod_ModelInfer<CallbackRpcs>,
      public InferRpcSource {
 public:
  // Both outlive the service.
  InferenceService(ModelTable& models, const Readiness& readiness)
      : models_(models), readiness_(readiness) {}

  void Request(grpc::ServerContext& context, grpc::ByteBuffer& message,
               InferResponder& responder, grpc::ServerCompletionQueue& queue,
               void* tag) override {
    RequestModelInfer(&context, &message, &responder, &queue, &queue, tag);
  }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* ServerLive(Context* context,
                      const inference::ServerLiveRequest* request,
                      inference::ServerLiveResponse* response) override;
  Reactor* ServerReady(Context* context,
                       const inference::ServerReadyRequest* request,
                       inference::ServerReadyResponse* response) override;
  Reactor* ModelReady(Context* context,
                      const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* response) override;
  Reactor* ServerMetadata(Context* context,
                          const inference::ServerMetadataRequest* request,
                          inference::ServerMetadataResponse* response) override;
  Reactor* ModelMetadata(Context* context,
                         const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* response) override;
  Reactor* ModelConfig(Context* context,
                       const inference::ModelConfigRequest* request,
                       inference::ModelConfigResponse* response) override;
  Reactor* ModelStatistics(
      Context* context, const inference::ModelStatisticsRequest* request,
      inference::ModelStatisticsResponse* response) override;

  // --- not offered ---
  grpc::ServerBidiReactor<inference::ModelInferRequest,
                          inference::ModelStreamInferResponse>*
  ModelStreamInfer(Context* context) override;
  Reactor* RepositoryIndex(Context* context,
                           const inference::RepositoryIndexRequest*,
                           inference::RepositoryIndexResponse*) override;
  Reactor* RepositoryModelLoad(
      Context* context, const inference::RepositoryModelLoadRequest*,
      inference::RepositoryModelLoadResponse*) override;
  Reactor* RepositoryModelUnload(
      Context* context, const inference::RepositoryModelUnloadRequest*,
      inference::RepositoryModelUnloadResponse*) override;
  Reactor* SystemSharedMemoryStatus(
      Context* context, const inference::SystemSharedMemoryStatusRequest*,
      inference::SystemSharedMemoryStatusResponse*) override;
  Reactor* SystemSharedMemoryRegister(
      Context* context, const inference::SystemSharedMemoryRegisterRequest*,
      inference::SystemSharedMemoryRegisterResponse*) override;
  Reactor* SystemSharedMemoryUnregister(
      Context* context, const inference::SystemSharedMemoryUnregisterRequest*,
      inference::SystemSharedMemoryUnregisterResponse*) override;
  Reactor* CudaSharedMemoryStatus(
      Context* context, const inference::CudaSharedMemoryStatusRequest*,
      inference::CudaSharedMemoryStatusResponse*) override;
  Reactor* CudaSharedMemoryRegister(
      Context* context, const inference::CudaSharedMemoryRegisterRequest*,
      inference::CudaSharedMemoryRegisterResponse*) override;
  Reactor* CudaSharedMemoryUnregister(
      Context* context, const inference::CudaSharedMemoryUnregisterRequest*,
      inference::CudaSharedMemoryUnregisterResponse*) override;
  Reactor* TraceSetting(Context* context, const inference::TraceSettingRequest*,
                        inference::TraceSettingResponse*) override;
  Reactor* LogSettings(Context* context, const inference::LogSettingsRequest*,
                       inference::LogSettingsResponse*) override;

  ModelTable& models_;
  const Readiness& readiness_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_INFERENCE_SERVICE_H_
