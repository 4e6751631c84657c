// Implements Server: puts the parts together and takes them apart.
#include "server/server.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "server/http/live_page.h"
#include "server/http/model_pages.h"
#include "server/memory_limit.h"
#include "server/metrics/open_metrics.h"
#include "server/metrics/transport_metrics.h"
#include "server/metrics/triton_metrics.h"
#include "server/net/frame_fence.h"
#include "server/net/open_files.h"

namespace ferry {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kServiceUnavailable = 503;

// How long it may take to write the last replies, at most, and traces half of
// it.
constexpr Duration kMaxFlush = std::chrono::milliseconds(800);
// What is given to threads that take connections, and that have long been told
// to end, before they are said to hang.
constexpr Duration kStopAcceptors = std::chrono::milliseconds(150);
static_assert(kMaxFlush + kStopAcceptors < Server::kMaxTeardown);

// What an idle server needs to say that it is idle, also where no time is left.
constexpr Duration kMinDrain = std::chrono::milliseconds(20);

// What clients that are told to go need to hear of it, in most networks. What
// they send meanwhile is served.
constexpr Duration kSendAway = std::chrono::milliseconds(100);

// gRPC cancels calls that arrive while it shuts down, which clients cannot
// tell from their own cancels. So the server goes on to answer UNAVAILABLE
// until clients have been quiet for a while, or at most for kMaxFarewell.
constexpr Duration kQuiet = std::chrono::milliseconds(100);
constexpr Duration kQuietPoll = std::chrono::milliseconds(10);
constexpr Duration kMaxFarewell = std::chrono::seconds(2);

// What a driver is given to show that it works: what is freed waits for it.
constexpr Duration kDeviceAnswers = std::chrono::milliseconds(250);

// How often the end looks whether all that can be answered has been.
constexpr Duration kAnswerPoll = std::chrono::milliseconds(50);

static_assert(Acceptor::kTurn <= ThreadWatch::kTurn);

constexpr absl::string_view kAdminSide = "admin";

absl::Status CannotListen(const absl::Status& status, absl::string_view side,
                          const std::string& address, int port) {
  const std::string flag = absl::StrCat("--", absl::AsciiStrToLower(side));
  const bool has_port_flag = side != kAdminSide;
  return absl::Status(
      status.code(),
      absl::StrCat("cannot listen on ", HostAndPort(address, port), " for ",
                   side, ": ", status.message(), "; choose another ",
                   has_port_flag ? absl::StrCat(flag, "-port or ") : "", flag,
                   "-address"));
}

void SleepUntil(TimePoint until) {
  Mutex mutex;
  CondVar never_signaled;
  MutexLock lock(mutex);
  while (Clock::Steady().Now() < until) {
    never_signaled.WaitUntil(mutex, until);
  }
}

HttpReply Yes(bool condition) {
  return {.code = condition ? kOk : kServiceUnavailable,
          .body = condition ? "ok\n" : "no\n"};
}

std::vector<ExposedAddress> ExposedBy(const ServerOptions& options,
                                      const Ports& ports) {
  std::vector<ExposedAddress> exposed;
  if (!ports.grpc.is_local()) {
    exposed.push_back(
        {.flag = absl::StrCat("--grpc-address=", options.grpc.address)});
  }
  if (ports.admin.has_value() && !ports.admin->is_local()) {
    exposed.push_back({.flag = absl::StrCat("--admin-address=",
                                            options.grpc.admin_address->host)});
  }
  if (ports.metrics.has_value() && !ports.metrics->is_local()) {
    exposed.push_back(
        {.flag = absl::StrCat("--metrics-address=", options.metrics.address),
         .asks_certificates = false});
  }
  return exposed;
}

// What other machines write is in no memory of this one.
absl::Status CheckSharedMemory(const ServerOptions& options,
                               const Ports& ports) {
  const bool is_local = ports.grpc.is_local() &&
                        (!ports.admin.has_value() || ports.admin->is_local());
  if (options.grpc.shared_memory == ClientSharedMemory::kOff || is_local) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "--allow-client-shm: expected a --grpc-address, and an --admin-address, "
      "that this machine alone reaches, as 127.0.0.1 or unix:FILE, got another "
      "one");
}

// Returns what a client is told that may not have a page; else nothing.
std::optional<HttpReply> RefusalOf(const Authorizer& authorizer,
                                   const HttpRequest& request) {
  const absl::Status status = authorizer.Authorize(
      MethodSet::kAll, ScopeOfPage(request.path),
      {.authorization = request.authorization, .certificate_names = {}});
  if (status.ok()) {
    return std::nullopt;
  }
  HttpReply reply = {.code = kForbidden,
                     .body = absl::StrCat(status.message(), "\n")};
  if (absl::IsUnauthenticated(status)) {
    reply.code = kUnauthorized;
    reply.headers = {{"WWW-Authenticate", "Bearer"}};
  }
  return reply;
}

absl::StatusOr<std::unique_ptr<Tracer>> OpenTracer(
    const TraceOptions& options) {
  TraceSinks sinks;
  absl::Status status;
  const auto keep = [&](std::unique_ptr<TraceSink>& sink,
                        absl::StatusOr<std::unique_ptr<TraceSink>> opened) {
    status.Update(opened.status());
    if (opened.ok()) {
      sink = *std::move(opened);
    }
  };
  if (!options.file.empty()) {
    keep(sinks.file, OpenTraceFile("--trace-file", options.file));
  }
  if (options.endpoint.has_value()) {
    sinks.collector = OpenCollector(*options.endpoint);
  }
  if (!options.access_log.empty()) {
    keep(sinks.access_log, OpenTraceFile("--access-log", options.access_log));
  }
  if (!status.ok()) {
    return status;
  }
  const double lines = options.access_log.empty() ? 0 : options.access_share;
  return std::make_unique<Tracer>(
      TraceShares{.spans = options.share, .lines = lines}, std::move(sinks));
}

}  // namespace

absl::StatusOr<Ports> BindPorts(const ServerOptions& options) {
  const GrpcOptions& grpc = options.grpc;
  auto grpc_port = ListenSockets::Bind(grpc.address, grpc.port);
  if (!grpc_port.ok()) {
    return CannotListen(grpc_port.status(), "gRPC", grpc.address, grpc.port);
  }
  Ports ports{.grpc = *std::move(grpc_port),
              .admin = std::nullopt,
              .metrics = std::nullopt};
  if (const auto& admin = grpc.admin_address; admin.has_value()) {
    auto admin_port = ListenSockets::Bind(admin->host, admin->port);
    if (!admin_port.ok()) {
      return CannotListen(admin_port.status(), kAdminSide, admin->host,
                          admin->port);
    }
    ports.admin = *std::move(admin_port);
  }
  const MetricsOptions& metrics = options.metrics;
  if (metrics.listening == MetricsListening::kOff) {
    return ports;
  }
  if (!IsIpAddress(metrics.address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--metrics-address: expected an IP address, got '",
                     metrics.address, "'"));
  }
  auto metrics_port = ListenSockets::Bind(metrics.address, metrics.port);
  if (!metrics_port.ok()) {
    return CannotListen(metrics_port.status(), "metrics", metrics.address,
                        metrics.port);
  }
  ports.metrics = *std::move(metrics_port);
  return ports;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const ServerOptions& options, Ports ports, DeviceMetrics* device) {
  if (absl::Status status = CheckSharedMemory(options, ports); !status.ok()) {
    return status;
  }
  auto keeper =
      Gatekeeper::Open(options.trust, ExposedBy(options, ports), absl::Now());
  if (!keeper.ok()) {
    return keeper.status();
  }
  std::unique_ptr<Server> server(new Server(options, std::move(ports), device));
  server->keeper_ = *std::move(keeper);
  if (server->keeper_->has_files()) {
    server->trust_ = std::make_unique<TrustWatch>(
        [keeper = server->keeper_] { keeper->Look(absl::Now()); });
  }
  if (options.trace.is_on()) {
    auto tracer = OpenTracer(options.trace);
    if (!tracer.ok()) {
      return tracer.status();
    }
    server->tracer_ = *std::move(tracer);
  }
  auto control = ModelControl::Create(server->repository_, server->models_,
                                      options.control);
  if (!control.ok()) {
    return control.status();
  }
  server->control_ = *std::move(control);
  return server;
}

absl::Status Server::Listen() {
  readiness_.Looked();
  readiness_.MoveTo(IsComplete() ? ServerState::kReady
                                 : ServerState::kIncomplete);
  return OpenPorts();
}

std::vector<std::string> Server::MissingModels() const {
  return control_->MissingModels();
}

bool Server::IsComplete() const {
  return !options_.is_readiness_strict || MissingModels().empty();
}

Server::Server(const ServerOptions& options, Ports ports, DeviceMetrics* device)
    : options_(options),
      device_(device),
      repository_(options.repository),
      unsent_(static_cast<size_t>(options.grpc.max_unsent_bytes)),
      guard_(options.memory, MemoryLimit()),
      shares_(options.client),
      regions_({.bytes = static_cast<uint64_t>(MemoryLimit()) / 4,
                .first_reserved_file = FirstReservedFile(OpenFileLimit())}),
      history_(models_, readiness_, device),
      probe_(options.lifecycle.is_device_lost
                 ? std::make_unique<LossProbe>(options.lifecycle.is_device_lost)
                 : nullptr),
      backends_(models_, options.lifecycle.backend_timeout,
                [this] { return IsDeviceLost(); }),
      threads_(options.lifecycle.backend_timeout),
      ports_(std::move(ports)),
      grpc_port_(ports_->grpc.port()) {}

absl::Status Server::OpenPorts() {
  grpc_ = GrpcEndpoint::Create(options_.grpc, *keeper_, models_, *control_,
                               readiness_, unsent_, admission_, load_,
                               tracer_.get());
  backends_.Look(Clock::Steady().Now());  // from now on arrivals count
  Ports ports = *std::exchange(ports_, std::nullopt);
  const int files = OpenFileLimit();
  if (absl::Status status = OpenPort(
          std::move(ports.grpc),
          {.methods = ports.admin.has_value() ? MethodSet::kWithoutAdmin
                                              : MethodSet::kAll,
           .connections = options_.grpc.connections,
           .first_reserved_file = FirstReservedFile(files)});
      !status.ok()) {
    return CannotListen(status, "gRPC", options_.grpc.address,
                        options_.grpc.port);
  }
  if (ports.admin.has_value()) {
    const ListenAddress& admin = *options_.grpc.admin_address;
    if (absl::Status status = OpenPort(
            *std::move(ports.admin),
            {.methods = MethodSet::kAll,
             .connections = {},
             .first_reserved_file = FirstFileReservedFromAdmin(files)});
        !status.ok()) {
      return CannotListen(status, kAdminSide, admin.host, admin.port);
    }
  }
  if (!ports.metrics.has_value()) {
    return absl::OkStatus();
  }
  if (device_ != nullptr) {
    device_->Refresh(kDeviceAnswers);
  }
  const absl::Status status = OpenHttp(*std::move(ports.metrics));
  return status.ok() ? status
                     : CannotListen(status, "metrics", options_.metrics.address,
                                    options_.metrics.port);
}

absl::Status Server::OpenPort(ListenSockets sockets, const PortRules& rules) {
  auto acceptor = Acceptor::Start(
      std::move(sockets),
      {.take =
           [this, rules](int listen_fd, int fd) {
             return grpc_->Take(rules.methods, rules.connections, listen_fd,
                                fd);
           },
       .tell = [this](bool is_blind) { readiness_.PortIsBlind(is_blind); },
       // Also where the main thread hangs, which tells otherwise.
       .turned = [this] { grpc_->TellHealth(); }},
      rules.first_reserved_file);
  if (acceptor.ok()) {
    acceptors_.push_back(*std::move(acceptor));
  }
  return acceptor.status();
}

absl::Status Server::OpenHttp(ListenSockets sockets) {
  auto http = HttpPort::Open(
      std::move(sockets),
      {.routes = Routes(),
       .others =
           [this](const HttpRequest& request) {
             return ModelPages(models_, readiness_).Answer(request.path);
           },
       .refuses =
           [this](const HttpRequest& request) {
             return RefusalOf(keeper_->authorizer(), request);
           }},
      keeper_->TlsIdentity());
  if (http.ok()) {
    http_ = *std::move(http);
  }
  return http.status();
}

std::vector<std::string> Server::DescribeState() const {
  std::vector<std::string> lines = {
      absl::StrCat("state: ", readiness_.is_ready() ? "ready" : "not ready",
                   " live=", readiness_.is_live(),
                   " draining=", readiness_.state() == ServerState::kDraining,
                   " unsent_reply_bytes=", unsent_.bytes())};
  const std::shared_ptr<const ServedSet> served = models_.current();
  for (const auto& [name, versions] : served->by_name) {
    if (versions.ready.empty()) {
      lines.push_back(absl::StrCat("state: model ", name, " is not ready"));
    }
  }
  for (const ModelUse& use : models_.UseAll()) {
    const SchedulerStatistics counted = use->model().scheduler->Snapshot();
    lines.push_back(absl::StrCat(
        "state: model ", use->model().name, " version=", use->version,
        " is ready queue_requests=", counted.queued_requests, " queue_rows=",
        counted.queued_rows, " running_batches=", counted.running_batches));
  }
  return lines;
}

HttpReply Server::Metrics(const HttpRequest& request, Buckets buckets) const {
  std::vector<prometheus::MetricFamily> families =
      ServerMetrics(models_, readiness_, unsent_, buckets).Collect();
  const auto add = [&families](std::vector<prometheus::MetricFamily> more) {
    std::move(more.begin(), more.end(), std::back_inserter(families));
  };
  add(TransportMetrics(acceptors_, *keeper_, admission_, *grpc_, *control_,
                       tracer_.get()));
  if (device_ != nullptr) {
    add(device_->Collect());
  }
  if (options_.metrics.names == MetricNames::kTritonsToo) {
    add(TritonMetrics(models_, device_));
  }
  const auto exemplars = [this](const std::string& model,
                                const std::string& version) {
    return tracer_ == nullptr ? std::vector<Exemplar>()
                              : tracer_->ExemplarsOf(model, version);
  };
  return PrefersOpenMetrics(request.accept)
             ? HttpReply{.content_type = kOpenMetricsText,
                         .body = ToOpenMetricsText(families, exemplars)}
             : HttpReply{.content_type = kPrometheusText,
                         .body = ToPrometheusText(families)};
}

HttpListener::Routes Server::Routes() const {
  return {
      {"/metrics",
       [this](const HttpRequest& request) {
         return Metrics(request, Buckets::kCommon);
       }},
      {"/metrics/fine",
       [this](const HttpRequest& request) {
         return Metrics(request, Buckets::kCounted);
       }},
      {"/", [](const HttpRequest&) { return LivePage(); }},
      {"/status.json",
       [this](const HttpRequest&) {
         return HttpReply{.content_type = "application/json",
                          .body = history_.ToJson(control_->Versions()),
                          .headers = {{"Cache-Control", "no-store"}}};
       }},
      {"/v2/health/live",
       [this](const HttpRequest&) { return Yes(readiness_.is_live()); }},
      {"/v2/health/ready", [this](const HttpRequest&) { return Ready(); }},
  };
}

// Says which models of the start it lacks, where it is for them.
HttpReply Server::Ready() const {
  HttpReply reply = Yes(readiness_.is_ready());
  const std::string missing = readiness_.state() == ServerState::kIncomplete
                                  ? absl::StrJoin(MissingModels(), ",")
                                  : "";
  if (!missing.empty()) {
    reply.body = absl::StrCat("no: missing=", missing, "\n");
  }
  return reply;
}

Server::~Server() {
  http_.reset();
  acceptors_.clear();
  if (grpc_ != nullptr) {
    // An answer on a queue that was stopped would end the process.
    control_->BeginDrain();
    control_->JoinBy(kNever);
    Check(control_->Drain(kNever).ok(), "a drain without a deadline ends");
    grpc_->Stop();
  }
  // Joins the threads of the backends: after this no call is pointed to by
  // them, and the calls can go with their queues.
  control_.reset();
  grpc_.reset();
}

std::optional<int> Server::metrics_port() const {
  return http_ == nullptr ? std::nullopt : std::optional<int>(http_->port());
}

std::optional<std::string> Server::Look() {
  const TimePoint now = Clock::Steady().Now();
  readiness_.Looked();
  unsent_.Enforce();
  memory_.Look(now);
  control_->MendPrecisions();
  const std::vector<std::string> overdue = backends_.overdue();
  std::optional<std::string> why;
  for (std::optional<std::string> more :
       {backends_.Look(now), guard_.Look(), LookAtThreads(now)}) {
    if (!why.has_value()) {
      why = std::move(more);
    }
  }
  load_.Set(backends_.load());
  if (backends_.overdue() != overdue) {
    grpc_->FollowModels();
  }
  LookAtReadiness(why.has_value());
  if (tracer_ != nullptr) {
    if (const std::string lost = tracer_->Look(now); !lost.empty()) {
      spdlog::warn("tracing: {}", lost);
    }
  }
  uint64_t refused = 0;
  for (const auto& acceptor : acceptors_) {
    refused += acceptor->counts().not_taken;
  }
  fence_log_.Look(CountFenced(), refused, now);
  LookAtClosedConnections(now);
  if (trust_ != nullptr) {
    trust_->Look();
  }
  if (http_ != nullptr) {
    keeper_->SetHttpIsStale(!http_->Look(keeper_->TlsIdentity(), now));
    if (device_ != nullptr) {  // HTTP alone tells of it, and of history
      device_->Refresh(Duration(0));
    }
    history_.Look(now);
  }
  return why;
}

void Server::LookAtReadiness(bool is_lost) {
  readiness_.SetOverdue(backends_.is_all_overdue());
  readiness_.SetStalled(!threads_.stalled().empty());
  if (readiness_.state() == ServerState::kIncomplete && IsComplete()) {
    readiness_.MoveTo(ServerState::kReady);
  }
  if (is_lost) {
    readiness_.MoveTo(ServerState::kLost);
  }
  grpc_->TellHealth();
}

std::optional<std::string> Server::LookAtThreads(TimePoint now) {
  std::vector<ThreadWatch::Thread> threads;
  const auto add = [&threads](absl::string_view name, size_t number,
                              TimePoint turned) {
    threads.push_back({absl::StrCat(name, "-", number), turned});
  };
  for (size_t i = 0; i < acceptors_.size(); ++i) {
    add("ferry-accept", i, acceptors_[i]->turned());
  }
  const std::vector<TimePoint> turns = grpc_->Turns();
  for (size_t i = 0; i < turns.size(); ++i) {
    add("ferry-infer", i, turns[i]);
  }
  return threads_.Look(threads, now);
}

bool Server::IsDeviceLost() { return probe_ != nullptr && probe_->Look(); }

bool Server::DeviceAnswers() {
  return probe_ == nullptr || probe_->Answers(kDeviceAnswers);
}

void Server::BeginDrain() {
  readiness_.MoveTo(ServerState::kDraining);
  grpc_->TellHealth();
}

uint64_t Server::DrainRefusals() const {
  uint64_t sum = 0;
  for (const ModelUse& use : models_.UseAll()) {
    sum += use->model().scheduler->Snapshot().refused[static_cast<size_t>(
        Refusal::kDraining)];
  }
  return sum;
}

bool Server::StopAcceptors(TimePoint until) {
  for (const auto& acceptor : acceptors_) {
    acceptor->BeginStop();
  }
  bool have_ended = true;
  for (const auto& acceptor : acceptors_) {
    have_ended = acceptor->StopBy(until) && have_ended;
  }
  return have_ended;
}

void Server::SendAway(TimePoint until) {
  StopAcceptors(std::max(until, Clock::Steady().Now() + kMinDrain));
  grpc_->SendGoaways();
  SleepUntil(until);
}

void Server::SayFarewell(TimePoint until) {
  const Clock& clock = Clock::Steady();
  uint64_t refused = DrainRefusals();
  TimePoint quiet_since = clock.Now();
  for (TimePoint now = clock.Now(); now < until && now < quiet_since + kQuiet;
       now = clock.Now()) {
    SleepUntil(now + kQuietPoll);
    grpc_->SendGoaways();  // to those whose connection was not made yet
    unsent_.Enforce();
    LookAtClosedConnections(now);
    const uint64_t refused_now = DrainRefusals();
    if (refused_now != refused) {
      refused = refused_now;
      quiet_since = clock.Now();
    }
  }
}

TimePoint Server::AwaitAnswers(TimePoint until) {
  const Clock& clock = Clock::Steady();
  for (TimePoint now = clock.Now(); now < until; now = clock.Now()) {
    if (IsDeviceLost()) {  // that of all models
      return now;
    }
    const std::vector<ModelUse> uses = models_.UseEach();
    if (std::none_of(uses.begin(), uses.end(), [&](const ModelUse& use) {
          return CanAnswer(use->model(), options_.lifecycle.backend_timeout,
                           now);
        })) {
      return now;
    }
    unsent_.Enforce();
    LookAtClosedConnections(now);
    SleepUntil(std::min(until, now + kAnswerPoll));
  }
  return until;
}

void Server::FlushReplies(TimePoint until) {
  const Clock& clock = Clock::Steady();
  for (TimePoint now = clock.Now();
       (LookAtClosedConnections(now) || unsent_.bytes() > 0) && now < until;
       now = clock.Now()) {
    SleepUntil(std::min(until, now + kQuietPoll));
  }
}

absl::Status Server::FinishDrain(TimePoint until) {
  const Clock& clock = Clock::Steady();
  const TimePoint now = clock.Now();
  SendAway(now + std::clamp((until - now) / 4, Duration(0), kSendAway));
  control_->BeginDrain();
  until = std::max(until, clock.Now() + kMinDrain);
  const TimePoint waited_until = AwaitAnswers(until);
  const TimePoint end = readiness_.is_live() ? until : waited_until;
  const absl::Status status = control_->Drain(end);
  grpc_->EndStreams();
  SayFarewell(std::min(until, clock.Now() + kMaxFarewell));
  const bool has_joined = control_->JoinBy(end);
  const TimePoint ended = clock.Now();
  if (tracer_ != nullptr) {  // the process may end without its destructor
    tracer_->Flush(ended + kMaxFlush / 2);
  }
  FlushReplies(ended + kMaxFlush);
  const bool have_stopped = StopAcceptors(clock.Now() + kStopAcceptors);
  // What is left, an upload or a reply that nothing reads, ends as with the
  // process: clients see UNAVAILABLE, and not the CANCELLED of a shutdown.
  for (const auto& acceptor : acceptors_) {
    acceptor->ShutConnections();
  }
  if (!have_stopped && status.ok()) {
    return absl::AbortedError("a thread that takes connections hangs");
  }
  if (!has_joined && status.ok()) {
    return absl::AbortedError(
        "a model is still being loaded, or the repository read");
  }
  if (status.ok()) {
    grpc_->Shutdown(Duration(0));
  }
  return status;
}

}  // namespace ferry
