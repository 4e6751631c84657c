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
#include "base/check.h"
#include "server/http/live_page.h"
#include "server/http/model_pages.h"
#include "server/metrics/open_metrics.h"
#include "server/metrics/transport_metrics.h"
#include "server/metrics/triton_metrics.h"
#include "server/net/open_files.h"

namespace ferry {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr int kOk = 200;
constexpr int kServiceUnavailable = 503;

// How long it may take to write the last replies, at most, and traces half of
// it.
constexpr Duration kMaxFlush = std::chrono::milliseconds(800);
static_assert(kMaxFlush < Server::kMaxTeardown);

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

absl::Status CannotListen(const absl::Status& status, const char* side,
                          const std::string& address, int port) {
  const std::string flag = absl::StrCat("--", absl::AsciiStrToLower(side));
  return absl::Status(
      status.code(),
      absl::StrCat("cannot listen on ", HostAndPort(address, port), " for ",
                   side, ": ", status.message(), "; choose another ", flag,
                   "-port or ", flag, "-address"));
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
  Ports ports{.grpc = *std::move(grpc_port), .metrics = std::nullopt};
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
  std::unique_ptr<Server> server(new Server(options, std::move(ports), device));
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
  readiness_.MoveTo(IsComplete() ? ServerState::kReady
                                 : ServerState::kIncomplete);
  return OpenDoors();
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
      history_(models_, readiness_, device),
      probe_(options.lifecycle.is_device_lost
                 ? std::make_unique<LossProbe>(options.lifecycle.is_device_lost)
                 : nullptr),
      watch_(models_, options.lifecycle.backend_timeout,
             [this] { return IsDeviceLost(); }),
      ports_(std::move(ports)),
      grpc_port_(ports_->grpc.port()) {}

absl::Status Server::OpenDoors() {
  grpc_ = GrpcEndpoint::Create(options_.grpc, models_, *control_, readiness_,
                               unsent_, load_, tracer_.get());
  TellHealth();
  watch_.Look(Clock::Steady().Now());  // from now on arrivals count
  Ports ports = *std::exchange(ports_, std::nullopt);
  auto acceptor = Acceptor::Start(
      std::move(ports.grpc),
      {.take = [this](int listen_fd, int fd) { grpc_->Take(listen_fd, fd); },
       .tell =
           [this](bool is_blind) {
             readiness_.SetBlind(is_blind);
             TellHealth();
           }},
      FirstReservedFile(OpenFileLimit()));
  if (!acceptor.ok()) {
    return CannotListen(acceptor.status(), "gRPC", options_.grpc.address,
                        options_.grpc.port);
  }
  acceptor_ = *std::move(acceptor);
  if (ports.metrics.has_value()) {
    if (device_ != nullptr) {
      device_->Refresh(kDeviceAnswers);
    }
    const MetricsOptions& metrics = options_.metrics;
    auto http = HttpListener::Create(
        *std::move(ports.metrics), Routes(), HttpBounds(),
        [this](const HttpRequest& request) {
          return ModelPages(models_, readiness_).Answer(request.path);
        });
    if (!http.ok()) {
      return CannotListen(http.status(), "metrics", metrics.address,
                          metrics.port);
    }
    http_ = *std::move(http);
  }
  return absl::OkStatus();
}

void Server::TellHealth() {
  MutexLock lock(health_mutex_);
  if (readiness_.is_ready()) {
    grpc_->SetServing();
  } else if (readiness_.is_serving() && !readiness_.is_blind()) {
    grpc_->SetIncomplete();
  } else {
    grpc_->SetNotServing();
  }
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
  add(TransportMetrics(*acceptor_, *grpc_, *control_, tracer_.get()));
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
                          .body = history_.ToJson(),
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
  acceptor_.reset();
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
  unsent_.Enforce();
  memory_.Look(now);
  control_->MendPrecisions();
  if (readiness_.state() == ServerState::kIncomplete && IsComplete()) {
    readiness_.MoveTo(ServerState::kReady);
    TellHealth();
  }
  std::optional<std::string> why = watch_.Look(now);
  load_.Set(watch_.load());
  if (tracer_ != nullptr) {
    if (const std::string lost = tracer_->Look(now); !lost.empty()) {
      spdlog::warn("tracing: {}", lost);
    }
  }
  if (http_ != nullptr) {  // which alone tells these
    if (device_ != nullptr) {
      device_->Refresh(Duration(0));
    }
    history_.Look(now);
  }
  if (why.has_value()) {
    readiness_.MoveTo(ServerState::kLost);
    TellHealth();
  }
  return why;
}

bool Server::IsDeviceLost() { return probe_ != nullptr && probe_->Look(); }

bool Server::DeviceAnswers() {
  return probe_ == nullptr || probe_->Answers(kDeviceAnswers);
}

void Server::BeginDrain() {
  readiness_.MoveTo(ServerState::kDraining);
  TellHealth();
}

uint64_t Server::DrainRefusals() const {
  uint64_t sum = 0;
  for (const ModelUse& use : models_.UseAll()) {
    sum += use->model().scheduler->Snapshot().refused[static_cast<size_t>(
        Refusal::kDraining)];
  }
  return sum;
}

void Server::SendAway(TimePoint until) {
  acceptor_->Stop();
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
    SleepUntil(std::min(until, now + kAnswerPoll));
  }
  return until;
}

void Server::FlushReplies(TimePoint until) {
  const Clock& clock = Clock::Steady();
  for (TimePoint now = clock.Now(); now < until && unsent_.bytes() > 0;
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
  const TimePoint end = readiness_.is_live() ? until : AwaitAnswers(until);
  const absl::Status status = control_->Drain(end);
  grpc_->EndStreams();
  SayFarewell(std::min(until, clock.Now() + kMaxFarewell));
  const bool has_joined = control_->JoinBy(end);
  const TimePoint ended = clock.Now();
  if (tracer_ != nullptr) {  // the process may end without its destructor
    tracer_->Flush(ended + kMaxFlush / 2);
  }
  FlushReplies(ended + kMaxFlush);
  // What is left, an upload or a reply that nothing reads, ends as with the
  // process: clients see UNAVAILABLE, and not the CANCELLED of a shutdown.
  acceptor_->ShutConnections();
  if (!has_joined) {
    return status.ok()
               ? absl::AbortedError(
                     "a model is still being loaded, or the repository read")
               : status;
  }
  if (status.ok()) {
    grpc_->Shutdown(Duration(0));
  }
  return status;
}

}  // namespace ferry
