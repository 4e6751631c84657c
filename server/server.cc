// Implements Server: puts the parts together and takes them apart.
#include "server/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace ferry {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr int kOk = 200;
constexpr int kServiceUnavailable = 503;

// How long gRPC may take to write the last replies, at most: no more than half
// of the time there is.
constexpr Duration kMaxShutdownGrace = std::chrono::seconds(1);

// What is kept of the time for the end of the threads after that.
constexpr Duration kTeardown = std::chrono::milliseconds(100);

// What an idle server needs to say that it is idle, also where no time is left.
constexpr Duration kMinDrain = std::chrono::milliseconds(20);

// gRPC cancels calls that arrive while it shuts down, which clients cannot
// tell from their own cancels. So the server goes on to answer UNAVAILABLE
// until clients have been quiet for a while, or at most for kMaxFarewell.
constexpr Duration kQuiet = std::chrono::milliseconds(100);
constexpr Duration kQuietPoll = std::chrono::milliseconds(10);
constexpr Duration kMaxFarewell = std::chrono::seconds(2);

HttpReply Yes(bool condition) {
  return {.code = condition ? kOk : kServiceUnavailable,
          .body = condition ? "ok\n" : "no\n"};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(
    const ServerOptions& options, const DeviceMetrics* device) {
  std::unique_ptr<Server> server(new Server(options, device));
  auto control = ModelControl::Create(server->repository_, server->models_,
                                      options.control);
  if (!control.ok()) {
    return control.status();
  }
  server->control_ = *std::move(control);
  return server;
}

absl::Status Server::Listen() {
  if (absl::Status status = OpenDoors(); !status.ok()) {
    return status;
  }
  BecomeReady();
  return absl::OkStatus();
}

std::vector<std::string> Server::MissingModels() const {
  return options_.is_readiness_strict ? control_->MissingModels()
                                      : std::vector<std::string>();
}

void Server::BecomeReady() {
  if (MissingModels().empty()) {
    readiness_.MoveTo(ServerState::kReady);
    grpc_->SetServing();
  } else {
    readiness_.MoveTo(ServerState::kIncomplete);
    grpc_->SetIncomplete();
  }
}

Server::Server(const ServerOptions& options, const DeviceMetrics* device)
    : options_(options),
      device_(device),
      repository_(options.repository),
      unsent_(static_cast<size_t>(options.grpc.max_unsent_bytes)),
      watch_(models_, options.lifecycle.backend_timeout,
             options.lifecycle.is_device_lost) {}

absl::Status Server::OpenDoors() {
  auto grpc = GrpcEndpoint::Create(options_.grpc, models_, *control_,
                                   readiness_, unsent_);
  if (!grpc.ok()) {
    return grpc.status();
  }
  grpc_ = *std::move(grpc);
  if (options_.metrics.listening == MetricsListening::kOff) {
    return absl::OkStatus();
  }
  auto http = HttpListener::Create(options_.metrics.address,
                                   options_.metrics.port, Routes());
  if (!http.ok()) {
    return http.status();
  }
  http_ = *std::move(http);
  return absl::OkStatus();
}

HttpReply Server::Metrics(Buckets buckets) const {
  std::string text =
      ToPrometheusText(ServerMetrics(models_, readiness_, unsent_, buckets));
  if (device_ != nullptr) {
    text += ToPrometheusText(*device_);
  }
  return {.content_type = kPrometheusText, .body = std::move(text)};
}

HttpListener::Routes Server::Routes() const {
  return {
      {"/metrics", [this] { return Metrics(Buckets::kCommon); }},
      {"/metrics/fine", [this] { return Metrics(Buckets::kCounted); }},
      {"/v2/health/live", [this] { return Yes(readiness_.is_live()); }},
      {"/v2/health/ready", [this] { return Yes(readiness_.is_ready()); }},
  };
}

Server::~Server() {
  http_.reset();
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
  if (readiness_.state() == ServerState::kIncomplete) {
    BecomeReady();
  }
  std::optional<std::string> why = watch_.Look(now);
  if (why.has_value()) {
    readiness_.MoveTo(ServerState::kLost);
    grpc_->SetNotServing();
  }
  return why;
}

void Server::BeginDrain() {
  readiness_.MoveTo(ServerState::kDraining);
  grpc_->SetNotServing();
}

uint64_t Server::DrainRefusals() const {
  uint64_t sum = 0;
  for (const ModelUse& use : models_.UseAll()) {
    sum += use->model().scheduler->Snapshot().refused[static_cast<size_t>(
        Refusal::kDraining)];
  }
  return sum;
}

void Server::SayFarewell(TimePoint until) {
  const Clock& clock = Clock::Steady();
  uint64_t refused = DrainRefusals();
  TimePoint quiet_since = clock.Now();
  Mutex mutex;
  CondVar never_signaled;
  MutexLock lock(mutex);
  for (TimePoint now = clock.Now(); now < until && now < quiet_since + kQuiet;
       now = clock.Now()) {
    never_signaled.WaitUntil(mutex, now + kQuietPoll);
    unsent_.Enforce();
    const uint64_t refused_now = DrainRefusals();
    if (refused_now != refused) {
      refused = refused_now;
      quiet_since = clock.Now();
    }
  }
}

absl::Status Server::FinishDrain(TimePoint until) {
  control_->BeginDrain();
  const Clock& clock = Clock::Steady();
  const TimePoint now = clock.Now();
  const Duration grace = std::min(kMaxShutdownGrace, (until - now) / 2);
  const TimePoint answered_by = std::max(until - grace, now + kMinDrain);
  const absl::Status status = control_->Drain(answered_by);
  SayFarewell(std::min(answered_by, clock.Now() + kMaxFarewell));
  if (!control_->JoinBy(until - kTeardown)) {
    return status.ok() ? absl::AbortedError("a model is still being loaded")
                       : status;
  }
  const Duration left = until - clock.Now() - kTeardown;
  grpc_->Shutdown(std::clamp(left, Duration(0), kMaxShutdownGrace));
  return status;
}

}  // namespace ferry
