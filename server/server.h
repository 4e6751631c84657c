// Server owns the served models and their endpoints, from ready to gone.
//
// Starting: BindPorts(), which finds a busy port before a model is loaded;
// Create(); Listen().
// Stopping: BeginDrain() (not ready, still serving), then FinishDrain()
// (clients are told to go, no new requests, what was admitted is answered,
// connections and gRPC are shut down), then the destructor. After a
// FinishDrain() that failed it may wait long: a process that must end leaves by
// _exit(), while gRPC's queues still take answers. So it does after Look() said
// that it cannot go on, and a FinishDrain().
//
// Thread safety: one thread calls, but DescribeState() any; what it owns serves
// on threads of its own.
// Errors: of BindPorts() and Listen(): an address that cannot be listened on;
// of Create(): a model that cannot serve, or clients that might come unknown.
#ifndef FERRY_SERVER_SERVER_H_
#define FERRY_SERVER_SERVER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "models/repository/model_repository.h"
#include "server/auth/gatekeeper.h"
#include "server/auth/trust_watch.h"
#include "server/control/backend_watch.h"
#include "server/control/client_shares.h"
#include "server/control/loss_probe.h"
#include "server/control/memory_guard.h"
#include "server/control/model_control.h"
#include "server/control/model_table.h"
#include "server/control/readiness.h"
#include "server/control/return_memory.h"
#include "server/control/thread_watch.h"
#include "server/grpc/endpoint_load.h"
#include "server/grpc/grpc_endpoint.h"
#include "server/http/http_port.h"
#include "server/http/status_history.h"
#include "server/metrics/device_metrics.h"
#include "server/metrics/metrics.h"
#include "server/net/acceptor.h"
#include "server/net/fence_log.h"
#include "server/net/listen_sockets.h"
#include "server/options.h"
#include "server/trace/tracer.h"

namespace ferry {

// What a server will listen on.
struct Ports {
  ListenSockets grpc;
  std::optional<ListenSockets> admin;    // none: --admin-address is not given
  std::optional<ListenSockets> metrics;  // none where metrics are off
};

absl::StatusOr<Ports> BindPorts(const ServerOptions& options);

class Server {
 public:
  // Opens what decides which clients may ask, and loads the models. `device`
  // outlives the server; null on the CPU.
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ServerOptions& options, Ports ports,
      DeviceMetrics* device = nullptr);

  // Listens, and is ready when it returns unless models are missing. Once,
  // after Create().
  absl::Status Listen();
  // The models of the start that could not be loaded yet.
  std::vector<std::string> MissingModels() const;

  // Waits until each load and each batch that runs has ended.
  ~Server();

  int grpc_port() const { return grpc_port_; }
  // Nothing where metrics are off.
  std::optional<int> metrics_port() const;

  // Returns lines for the log: the server's state, and each version's.
  std::vector<std::string> DescribeState() const;

  // Looks after backends, the device, replies, freed memory and its readiness;
  // called twice a second. Returns why the process must end, which then is
  // neither ready nor live, or nothing.
  std::optional<std::string> Look();

  bool is_ready() const { return readiness_.is_ready(); }
  // Whether it was told to stop: by BeginDrain(), or a client with the scope
  // admin; then the caller drains it.
  bool is_draining() const {
    return readiness_.state() == ServerState::kDraining;
  }

  void BeginDrain();

  // What was admitted has until then; returns at most kMaxTeardown later.
  // DEADLINE_EXCEEDED where not all of it was finished in time: the rest was
  // answered with UNAVAILABLE or still runs. ABORTED where all was, but a model
  // is still being loaded, or a thread that takes connections hangs. A server
  // that cannot go on waits for no batch that hangs.
  absl::Status FinishDrain(TimePoint until);
  static constexpr Duration kMaxTeardown = std::chrono::seconds(1);

  // Whether the driver of the device that models share answers within 250 ms;
  // true without one. Where it does not, the destructor may wait for ever.
  bool DeviceAnswers();

 private:
  Server(const ServerOptions& options, Ports ports, DeviceMetrics* device);

  absl::Status OpenPorts();
  // What a port of gRPC serves, and how many connections, which have
  // descriptors below the reserved ones.
  struct PortRules {
    MethodSet methods;
    ConnectionBounds connections;
    int first_reserved_file;
  };
  // Takes the connections of those sockets.
  absl::Status OpenPort(ListenSockets sockets, const PortRules& rules);
  absl::Status OpenHttp(ListenSockets sockets);
  // Returns why the process must end for a thread that stalls, or nothing.
  std::optional<std::string> LookAtThreads(TimePoint now);
  // Tells readiness and health what the looks have found.
  void LookAtReadiness(bool is_lost);
  // By the last answer of the device that models share, which is asked anew.
  bool IsDeviceLost();
  // Whether it may be ready with the models that it has.
  bool IsComplete() const;
  HttpReply Ready() const;
  // In the format that the scraper asks for.
  HttpReply Metrics(const HttpRequest& request, Buckets buckets) const;
  HttpListener::Routes Routes() const;
  // Requests refused because the server drains.
  uint64_t DrainRefusals() const;
  // Takes no more connections. Returns false where a thread that takes them has
  // not ended by then.
  bool StopAcceptors(TimePoint until);
  // Tells clients to go, and serves what they send until they hear of it.
  void SendAway(TimePoint until);
  // Waits until only what hangs or is lost is left, at most until then; returns
  // when it ended.
  TimePoint AwaitAnswers(TimePoint until);
  // Goes on to refuse until clients are quiet, at most until then.
  void SayFarewell(TimePoint until);
  // Waits until replies are written, at most until then.
  void FlushReplies(TimePoint until);

  const ServerOptions options_;
  DeviceMetrics* const device_;  // or null
  Readiness readiness_;
  ModelRepository repository_;
  ModelTable models_;
  std::unique_ptr<ModelControl> control_;
  UnsentReplies unsent_;
  MemoryGuard guard_;
  ClientShares shares_;
  SharedRegions regions_;
  const GrpcEndpoint::Admission admission_{
      .memory = guard_,
      .shares = shares_,
      .regions = options_.grpc.shared_memory == ClientSharedMemory::kOn
                     ? &regions_
                     : nullptr};
  EndpointLoad load_;
  std::unique_ptr<Tracer> tracer_;  // null: nothing is traced
  StatusHistory history_;
  MemoryReturn memory_;
  const std::unique_ptr<LossProbe> probe_;  // null without a device
  BackendWatch backends_;
  ThreadWatch threads_;
  std::optional<Ports> ports_;  // until Listen()
  const int grpc_port_;
  std::shared_ptr<Gatekeeper> keeper_;
  std::unique_ptr<TrustWatch> trust_;  // null: keeper_ has no files
  std::unique_ptr<GrpcEndpoint> grpc_;
  FenceLog fence_log_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;  // --grpc-address's first
  std::unique_ptr<HttpPort> http_;
};

}  // namespace ferry

#endif  // FERRY_SERVER_SERVER_H_
