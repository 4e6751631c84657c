// EchoService is grpc-echo's service: it answers any ModelInfer with the same
// bytes.
//
// It speaks enough of inference.GRPCInferenceService for perf_analyzer and
// ferry-bench to drive it, and has none of Ferry's code behind it: what a
// client measures against it is the cost of gRPC, the kernel and itself.
//
// Thread safety: both services are thread-safe once the server has started.
#ifndef FERRY_BENCH_MICRO_ECHO_SERVICE_H_
#define FERRY_BENCH_MICRO_ECHO_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "proto/inference.grpc.pb.h"

namespace ferry::bench {

// What the echo claims to serve. One FP32 input and one FP32 output, each
// [-1, elements]; the reply always carries one row.
struct EchoModel {
  std::string name = "mlp";
  int64_t input_elements = 1024;
  int64_t output_elements = 1024;
};

// Returns what every reply has in common: a serialized ModelInferResponse
// without an id.
grpc::Slice MakeEchoReply(const EchoModel& model);

// Returns the reply to one ModelInfer: `reply`, not copied, and the request's
// id where it has one (perf_analyzer matches replies by it). An id that does
// not lie whole in the request's first slice is left out.
grpc::ByteBuffer AnswerWithId(const grpc::Slice& reply,
                              const grpc::ByteBuffer& request);

// Returns the reply to one ModelInfer as a server of the generated, typed API
// makes it: the message parsed, its first raw input copied to the reply as
// `output`, and the reply serialized.
grpc::ByteBuffer AnswerByCopy(const EchoModel& model,
                              grpc::ByteBuffer* request);

// Fill the replies of the calls that clients make before ModelInfer.
void FillEchoMetadata(const EchoModel& model,
                      inference::ModelMetadataResponse* reply);
void FillEchoConfig(const EchoModel& model,
                    inference::ModelConfigResponse* reply);
void FillEchoServerMetadata(inference::ServerMetadataResponse* reply);

// The typed calls around ModelInfer, on gRPC's own threads. `Base` leaves
// ModelInfer to the caller (raw on completion queues, or raw callback).
template <typename Base>
class EchoService : public Base {
 public:
  explicit EchoService(const EchoModel& model) : model_(model) {}

  grpc::ServerUnaryReactor* ServerLive(
      grpc::CallbackServerContext* context,
      const inference::ServerLiveRequest* /*request*/,
      inference::ServerLiveResponse* reply) override {
    reply->set_live(true);
    return FinishOk(context);
  }

  grpc::ServerUnaryReactor* ServerReady(
      grpc::CallbackServerContext* context,
      const inference::ServerReadyRequest* /*request*/,
      inference::ServerReadyResponse* reply) override {
    reply->set_ready(true);
    return FinishOk(context);
  }

  grpc::ServerUnaryReactor* ModelReady(
      grpc::CallbackServerContext* context,
      const inference::ModelReadyRequest* /*request*/,
      inference::ModelReadyResponse* reply) override {
    reply->set_ready(true);
    return FinishOk(context);
  }

  grpc::ServerUnaryReactor* ServerMetadata(
      grpc::CallbackServerContext* context,
      const inference::ServerMetadataRequest* /*request*/,
      inference::ServerMetadataResponse* reply) override {
    FillEchoServerMetadata(reply);
    return FinishOk(context);
  }

  grpc::ServerUnaryReactor* ModelMetadata(
      grpc::CallbackServerContext* context,
      const inference::ModelMetadataRequest* /*request*/,
      inference::ModelMetadataResponse* reply) override {
    FillEchoMetadata(model_, reply);
    return FinishOk(context);
  }

  grpc::ServerUnaryReactor* ModelConfig(
      grpc::CallbackServerContext* context,
      const inference::ModelConfigRequest* /*request*/,
      inference::ModelConfigResponse* reply) override {
    FillEchoConfig(model_, reply);
    return FinishOk(context);
  }

 protected:
  static grpc::ServerUnaryReactor* FinishOk(
      grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const EchoModel model_;
};

using GrpcService = inference::GRPCInferenceService;

// Every call but ModelInfer, each typed and with a callback.
template <typename Base>
using TypedEchoMethods = GrpcService::WithCallbackMethod_ServerLive<
    GrpcService::WithCallbackMethod_ServerReady<
        GrpcService::WithCallbackMethod_ModelReady<
            GrpcService::WithCallbackMethod_ServerMetadata<
                GrpcService::WithCallbackMethod_ModelMetadata<
                    GrpcService::WithCallbackMethod_ModelConfig<Base>>>>>>;

// All on completion queues, ModelInfer raw; serve it with EchoQueues. None by
// callbacks: one such method, and gRPC starts threads that compete with the
// queues' for the sockets. What no load generator calls (shared memory,
// streams, loading) is not answered.
using QueueEchoService =
    GrpcService::WithRawMethod_ModelInfer<GrpcService::AsyncService>;

// ModelInfer raw with gRPC's callback API.
class CallbackEchoService
    : public EchoService<
          TypedEchoMethods<GrpcService::WithRawCallbackMethod_ModelInfer<
              GrpcService::Service>>> {
 public:
  explicit CallbackEchoService(const EchoModel& model);

  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;

 private:
  const grpc::Slice reply_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_ECHO_SERVICE_H_
