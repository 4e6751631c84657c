// Implements GrpcEndpoint: builds and ends gRPC's server.
#include "server/grpc/grpc_endpoint.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/grpc/admin_log.h"
#include "server/grpc/credentials.h"
#include "server/grpc/goaway.h"
#include "server/net/peer.h"

namespace ferry {
namespace {

// Past some hundreds of calls under way a call costs both sides twice as much
// (docs/decisions/0034-overload-on-few-cores.md).
constexpr int64_t kMinStreamsByModels = 256;
constexpr int64_t kMaxStreamsByModels = 4096;
// It computes one, another is ready, and two wait.
constexpr int64_t kBatchesOfInstance = 4;
// gRPC 1.51 ends the whole connection of a call that has more, and with it the
// calls of others, where a proxy shares it. Proxies pass 16 to 64 KiB: no
// client behind one gets past this bound.
constexpr int kMaxMetadataBytes = 1 << 20;
constexpr int kKeepaliveTimeMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr int kMinClientPingIntervalMs = 10'000;
// In which a client has to have said that it speaks HTTP/2, and with TLS shown
// what it has to.
constexpr int kHandshakeTimeoutMs = 20'000;

// Erases what the reflection library's static initializer adds: linked, it
// would be on without being asked for.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*
                         plugins) override {
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(),
                                  [](const auto& plugin) {
                                    return plugin->name() ==
                                           "proto_server_reflection";
                                  }),
                   plugins->end());
  }
};

// Takes the one algorithm; gRPC refuses the others as UNIMPLEMENTED by name.
// Where there is none, the filters that compress and inflate are left out:
// every call pays for them, and gRPC inflates before it looks at the size.
void SetCompression(Compression compression, grpc::ServerBuilder& builder) {
  const grpc_compression_algorithm algorithm =
      compression == Compression::kGzip      ? GRPC_COMPRESS_GZIP
      : compression == Compression::kDeflate ? GRPC_COMPRESS_DEFLATE
                                             : GRPC_COMPRESS_NONE;
  for (const grpc_compression_algorithm known :
       {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    builder.SetCompressionAlgorithmSupportStatus(known, known == algorithm);
  }
  builder.SetDefaultCompressionAlgorithm(algorithm);
  const int is_on = algorithm == GRPC_COMPRESS_NONE ? 0 : 1;
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, is_on);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, is_on);
}

// Returns how many calls one connection may have under way, a ModelStreamInfer
// being one: as the option says, or by the models that are served now.
int StreamsOfConnection(const GrpcOptions& options, const ModelTable& models) {
  if (options.max_streams > 0) {
    return options.max_streams;
  }
  int64_t streams = kMinStreamsByModels;
  for (const ModelUse& use : models.UseAll()) {
    const ServedModel& model = use->model();
    streams = std::max(streams, kBatchesOfInstance *
                                    model.scheduler->instance_count() *
                                    model.spec.max_batch_size);
  }
  return static_cast<int>(std::min(streams, kMaxStreamsByModels));
}

// A connection that is idle or old is told to open no more calls, and ends when
// it has none under way.
void SetLives(const ConnectionLives& lives, grpc::ServerBuilder& builder) {
  const auto set = [&builder](const char* argument, Duration time) {
    if (time > Duration(0)) {
      builder.AddChannelArgument(
          argument,
          static_cast<int>(
              std::chrono::ceil<std::chrono::milliseconds>(time).count()));
    }
  };
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, lives.idle);
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, lives.age);
  if (lives.age > Duration(0)) {
    set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, lives.age_grace);
  }
}

// Returns what names in the log the client that changes the server.
CallTeller TellerOf(const Authorizer& authorizer) {
  return [&authorizer, log = std::make_shared<AdminLog>()](
             const std::string& path, const grpc::ServerContext& call) {
    log->Tell(path, NameOfClient(authorizer, call), call.peer());
  };
}

std::function<std::string(const grpc::ServerContext&)> NamerOf(
    const Authorizer& authorizer) {
  return [&authorizer](const grpc::ServerContext& call) {
    return NameOfClient(authorizer, call);
  };
}

}  // namespace

std::unique_ptr<GrpcEndpoint> GrpcEndpoint::Create(
    const GrpcOptions& options, const Gatekeeper& keeper, ModelTable& models,
    ModelControl& control, Readiness& readiness, UnsentReplies& unsent,
    const Admission& admission, const EndpointLoad& load, Tracer* tracer) {
  std::unique_ptr<GrpcEndpoint> endpoint(
      new GrpcEndpoint(models, control, readiness, unsent, admission, load,
                       tracer, TellerOf(keeper.authorizer()),
                       {.regions = admission.regions,
                        .name_of_client = NamerOf(keeper.authorizer())}));
  grpc::ServerBuilder builder;
  endpoint->Configure(options, keeper, builder);
  endpoint->server_ = builder.BuildAndStart();
  Check(endpoint->server_ != nullptr, "a server that binds no port starts");
  for (auto& queue : endpoint->queues_) {
    queue->Start();
  }
  endpoint->FollowModels();
  return endpoint;
}

void GrpcEndpoint::FollowModels() {
  models_.Listen([this](const ServedSet& served) {
    HealthService::Models models;
    for (const auto& [name, versions] : served.by_name) {
      models[name] =
          std::any_of(versions.ready.begin(), versions.ready.end(),
                      [](const auto& entry) { return !entry->is_overdue; });
    }
    health_.SetModels(std::move(models));
  });
}

void GrpcEndpoint::Configure(const GrpcOptions& options,
                             const Gatekeeper& keeper,
                             grpc::ServerBuilder& builder) {
  if (options.reflection == Reflection::kOff) {
    builder.SetOption(std::make_unique<WithoutReflection>());
  } else {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  }
  has_tls_ = keeper.tls_files() != nullptr;
  using Experimental = grpc::ServerBuilder::experimental_type;
  for (const MethodSet methods : {MethodSet::kAll, MethodSet::kWithoutAdmin}) {
    acceptors_[methods] = builder.experimental().AddExternalConnectionAcceptor(
        Experimental::ExternalConnectionType::FROM_FD,
        MakeCredentials(keeper, methods));
  }
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  SetCompression(options.compression, builder);
  // Every call would pay for it and no client has a use for it: counts of every
  // call for a service that is not offered.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  const int streams = StreamsOfConnection(options, models_);
  SetStreamsOfConnection(streams);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinClientPingIntervalMs);
  SetLives(options.lives, builder);
  grpc::ResourceQuota quota("ferry");
  quota.Resize(static_cast<size_t>(options.memory_bytes));
  builder.SetResourceQuota(quota);
  builder.RegisterService(&service_);
  builder.RegisterService(&health_);
  std::vector<QueuedService*> services = {&service_, &health_};
  if (options.admin == AdminRpc::kOn) {
    builder.RegisterService(&admin_);
    services.push_back(&admin_);
  }
  const Authorizer& authorizer = keeper.authorizer();
  for (int i = 0; i < options.infer_thread_count; ++i) {
    queues_.push_back(std::make_unique<InferQueue>(
        models_, options.status_codes,
        InferQueue::Sources{
            .calls = service_,
            .streams = service_,
            .load =
                options.load_trailers == LoadTrailers::kOn ? &load_ : nullptr,
            .tracer = tracer_,
            .memory = &admission_.memory,
            .shares = authorizer.has_tokens() ? &admission_.shares : nullptr,
            .regions = admission_.regions,
            .max_region_bytes =
                static_cast<uint64_t>(options.max_message_bytes),
            .name_of_client = NamerOf(authorizer)},
        unsent_, services, builder));
  }
}

bool GrpcEndpoint::Take(MethodSet methods, const ConnectionBounds& bounds,
                        int listen_fd, int fd) {
  // What gRPC sets on the sockets that it accepts itself.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const int timeout_ms = kKeepaliveTimeoutMs;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms,
             sizeof(timeout_ms));
  const std::optional<std::string> peer = PeerOf(fd);
  if (peer.has_value() &&  // else it is gone, and gRPC closes it unread
      !FenceConnection(fd, *peer, has_tls_ ? Frames::kInTls : Frames::kPlain,
                       bounds)) {
    return false;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
      connection;
  connection.listener_fd = listen_fd;
  connection.fd = fd;
  acceptors_.at(methods)->HandleNewConnection(&connection);
  return true;
}

std::vector<Duration> GrpcEndpoint::CpuTimes() const {
  std::vector<Duration> times;
  for (const auto& queue : queues_) {
    times.push_back(queue->cpu_time());
  }
  return times;
}

std::vector<TimePoint> GrpcEndpoint::Turns() const {
  std::vector<TimePoint> turns;
  for (const auto& queue : queues_) {
    turns.push_back(queue->turned());
  }
  return turns;
}

void GrpcEndpoint::SendGoaways() { ferry::SendGoaways(*server_); }

void GrpcEndpoint::EndStreams() {
  health_.EndWatches();
  for (auto& queue : queues_) {
    queue->EndStreams();
  }
}

void GrpcEndpoint::Shutdown(Duration grace) {
  models_.Listen({});
  health_.EndWatches();
  server_->Shutdown(gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(std::max<int64_t>(grace.count(), 0), GPR_TIMESPAN)));
}

void GrpcEndpoint::Stop() {
  Shutdown(Duration(0));  // unless it was shut down before
  if (admission_.regions != nullptr) {
    admission_.regions->Close();  // what it answers comes before the queues end
  }
  for (auto& queue : queues_) {
    queue->Stop();
  }
}

}  // namespace ferry
