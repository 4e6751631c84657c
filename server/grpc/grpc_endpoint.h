// GrpcEndpoint runs the gRPC server with its services, queues and bounds.
//
// Bounds: message bytes, metadata bytes, streams a connection, memory, unread
// replies; no compression, no reflection and no admin RPC unless asked for.
//
// It listens nowhere: connections are handed to it (server/net/acceptor.h), as
// gRPC's own listener stops for ever at the first one that it cannot accept.
//
// Life: Create(); Take() what comes; SendGoaways(); EndStreams(); Shutdown();
// Stop() when nothing is left to answer; then the destructor, after the
// schedulers are gone.
//
// Thread safety: created, shut down and destroyed by one thread; the rest from
// any.
#ifndef FERRY_SERVER_GRPC_GRPC_ENDPOINT_H_
#define FERRY_SERVER_GRPC_GRPC_ENDPOINT_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <map>
#include <memory>
#include <vector>

#include "server/auth/gatekeeper.h"
#include "server/control/client_shares.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/grpc/admin_service.h"
#include "server/grpc/grpc_options.h"
#include "server/grpc/health_service.h"
#include "server/grpc/infer_queue.h"
#include "server/grpc/inference_service.h"
#include "server/grpc/unsent_replies.h"
#include "server/net/frame_fence.h"

namespace ferry {

class GrpcEndpoint {
 public:
  // What requests are admitted by, beside the models' queues; outlives it.
  struct Admission {
    const MemoryGuard& memory;
    ClientShares& shares;
    SharedRegions* regions = nullptr;  // null: shared memory is not offered
  };

  // All but the options outlive the endpoint. `tracer`: null: nothing is
  // traced.
  static std::unique_ptr<GrpcEndpoint> Create(
      const GrpcOptions& options, const Gatekeeper& keeper, ModelTable& models,
      ModelControl& control, Readiness& readiness, UnsentReplies& unsent,
      const Admission& admission, const EndpointLoad& load, Tracer* tracer);

  // REQUIRES: Stop() was called.
  ~GrpcEndpoint() = default;

  // Serves a connection, which came to that listening socket, with the methods
  // of its port, and closes it. Before Shutdown(). False: it is one more than
  // the bounds allow, and stays the caller's.
  bool Take(MethodSet methods, const ConnectionBounds& bounds, int listen_fd,
            int fd);

  // Tells clients that watch the health where readiness has changed.
  void TellHealth() { health_.Tell(); }
  // Tells the health service which models are ready, and again at each change
  // of those that are served; where one is overdue, or no more, the caller
  // calls again.
  void FollowModels();

  // Returns the processor time of each gRPC thread so far.
  std::vector<Duration> CpuTimes() const;

  // Returns when each gRPC thread last turned: InferQueue::turned().
  std::vector<TimePoint> Turns() const;

  // Tells every client to open no more calls on its connection. Those that it
  // opens before it hears of that are served; then the connection ends.
  void SendGoaways();

  // Ends the streams and watches, also those that come later, with UNAVAILABLE,
  // a stream once what it asked for is answered.
  void EndStreams();

  // Takes no more calls, waits for those under way, at most `grace`, and
  // cancels the rest. A batch that still runs is answered all the same. gRPC
  // cancels the calls that arrive meanwhile, which their clients cannot tell
  // from their own cancels: so no client should have a connection any more.
  void Shutdown(Duration grace);

  // Shuts down, and ends the queues, which take no answer any more. REQUIRES:
  // no load is under way, and the schedulers have answered what they accepted.
  void Stop();

 private:
  GrpcEndpoint(ModelTable& models, ModelControl& control, Readiness& readiness,
               UnsentReplies& unsent, const Admission& admission,
               const EndpointLoad& load, Tracer* tracer, const CallTeller& tell,
               const RegionAccess& shared_memory)
      : models_(models),
        service_(models, control, readiness, unsent, tell, shared_memory),
        admin_(models, readiness, unsent, tell),
        health_(inference::GRPCInferenceService::service_full_name(), readiness,
                unsent),
        unsent_(unsent),
        admission_(admission),
        load_(load),
        tracer_(tracer) {}

  void Configure(const GrpcOptions& options, const Gatekeeper& keeper,
                 grpc::ServerBuilder& builder);

  ModelTable& models_;
  InferenceService service_;
  AdminService admin_;  // registered where asked for
  HealthService health_;
  UnsentReplies& unsent_;
  const Admission admission_;
  const EndpointLoad& load_;
  Tracer* const tracer_;  // or null
  std::vector<std::unique_ptr<InferQueue>> queues_;
  bool has_tls_ = false;
  std::map<MethodSet,
           std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>>
      acceptors_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_GRPC_GRPC_ENDPOINT_H_
