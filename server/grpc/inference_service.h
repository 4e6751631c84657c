// InferenceService is inference.GRPCInferenceService as gRPC sees it, all of it
// on completion queues.
//
// InferQueues post for ModelInfer and ModelStreamInfer and serve them. All else
// is small; what needs files or loads is answered by other threads, the rest at
// once on the queue's thread. An RPC that Ferry does not offer answers
// UNIMPLEMENTED and says why.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_GRPC_INFERENCE_SERVICE_H_
#define FERRY_SERVER_GRPC_INFERENCE_SERVICE_H_

#include <grpcpp/server_context.h>

#include "proto/inference.grpc.pb.h"
#include "server/control/model_control.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/grpc/grpc_infer_call.h"
#include "server/grpc/infer_stream.h"
#include "server/grpc/region_answers.h"
#include "server/grpc/unary_call.h"
#include "server/grpc/unsent_replies.h"

namespace ferry {

using Rpc = inference::GRPCInferenceService;

class InferenceService final
    : public UnaryService<Rpc::WithRawMethod_ModelInfer<
          Rpc::WithRawMethod_ModelStreamInfer<Rpc::AsyncService>>>,
      public InferRpcSource,
      public InferStreamSource {
 public:
  // Those referred to outlive the service.
  InferenceService(ModelTable& models, ModelControl& control,
                   const Readiness& readiness, UnsentReplies& unsent,
                   CallTeller tell, RegionAccess shared_memory);

  void Request(grpc::ServerContext& context, grpc::ByteBuffer& message,
               InferResponder& responder, grpc::ServerCompletionQueue& queue,
               void* tag) override {
    // What the generated RequestModelInfer() does, with a responder of ours.
    RequestAsyncUnary(model_infer_index_, &context, &message, &responder,
                      &queue, &queue, tag);
  }

  void RequestStream(grpc::ServerContext& context,
                     InferStreamResponder& responder,
                     grpc::ServerCompletionQueue& queue, void* tag) override {
    RequestModelStreamInfer(&context, &responder, &queue, &queue, tag);
  }

  // All RPCs but ModelInfer and ModelStreamInfer.
  void PostCalls(grpc::ServerCompletionQueue& queue) override;

 private:
  grpc::Status AnswerServerLive(const inference::ServerLiveRequest& request,
                                inference::ServerLiveResponse& response);
  grpc::Status AnswerServerReady(const inference::ServerReadyRequest& request,
                                 inference::ServerReadyResponse& response);
  grpc::Status AnswerModelReady(const inference::ModelReadyRequest& request,
                                inference::ModelReadyResponse& response);
  grpc::Status AnswerServerMetadata(
      const inference::ServerMetadataRequest& request,
      inference::ServerMetadataResponse& response);
  grpc::Status AnswerModelMetadata(
      const inference::ModelMetadataRequest& request,
      inference::ModelMetadataResponse& response);
  grpc::Status AnswerModelConfig(const inference::ModelConfigRequest& request,
                                 inference::ModelConfigResponse& response);
  grpc::Status AnswerModelStatistics(
      const inference::ModelStatisticsRequest& request,
      inference::ModelStatisticsResponse& response);

  void PostOffered(grpc::ServerCompletionQueue& queue);
  void PostSettings(grpc::ServerCompletionQueue& queue);
  void PostModelControl(grpc::ServerCompletionQueue& queue);
  void PostSharedMemory(grpc::ServerCompletionQueue& queue);
  void PostNotOffered(grpc::ServerCompletionQueue& queue);

  ModelTable& models_;
  ModelControl& control_;
  const Readiness& readiness_;
  const RegionAccess shared_memory_;
  const int model_infer_index_;  // of the service's methods
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_INFERENCE_SERVICE_H_
