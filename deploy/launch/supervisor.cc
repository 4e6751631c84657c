// Implements Supervisor: a loop in poll() awaits signals, output and health.
#include "deploy/launch/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/stray_signals.h"

namespace ferry::launch {
namespace {

constexpr int kFirstSignalExit = 128;
constexpr int kPipeBytes = 64 << 10;  // of Linux
constexpr int kReadsATurn = 16;
constexpr int64_t kFailedStartsToTell = 5;
constexpr size_t kMaxQueuedBytes = 1 << 20;
constexpr Duration kFlushTime = std::chrono::milliseconds(500);

sigset_t Watched() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGCHLD}) {
    sigaddset(&signals, number);
  }
  struct sigaction hang_up = {};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) {  // as by nohup
    sigaddset(&signals, SIGHUP);
  }
  return signals;
}

std::string Labeled(absl::string_view line) {
  return absl::StrCat("ferry-launch: ", line, "\n");
}

std::string DroppedText(uint64_t count) {
  return Labeled(
      absl::StrCat("lines were dropped, as none were read count=", count));
}

// Until then in milliseconds for poll(), rounded up; -1 for kNever.
int PollTimeout(TimePoint until, TimePoint now) {
  if (until == kNever) {
    return -1;
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  return static_cast<int>(
      std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Supervisor::Supervisor(std::vector<ServerPlan> plans,
                       const SupervisorOptions& options)
    : options_(options),
      out_(STDOUT_FILENO, kMaxQueuedBytes, &DroppedText),
      log_(STDERR_FILENO, kMaxQueuedBytes, &DroppedText) {
  const sigset_t signals = Watched();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  IgnoreStraySignals();
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  std::vector<HttpAddress> addresses;
  for (const ServerPlan& plan : plans) {
    servers_.push_back(std::make_unique<Server>(plan, options.back_off,
                                                Clock::Steady().Now()));
    addresses.push_back({.host = LocalHost(plan.metrics_address),
                         .port = plan.metrics_port,
                         .has_tls = plan.has_tls});
  }
  probe_ = std::make_unique<ReadyProbe>(addresses, options.hang_timeout);
}

Supervisor::~Supervisor() {
  probe_.reset();
  close(signal_fd_);
}

int Supervisor::Run() {
  while (!AllStopped()) {
    StartWhatIsDue();
    TellChanges();
    WaitForNews();
  }
  TellChanges();
  const TimePoint flush_by = Clock::Steady().Now() + kFlushTime;
  out_.FlushBy(flush_by);
  log_.FlushBy(flush_by);
  if (second_signal_.has_value()) {
    return kFirstSignalExit + *second_signal_;
  }
  const bool some_failed =
      std::any_of(servers_.begin(), servers_.end(),
                  [](const auto& server) { return server->has_failed; });
  return some_failed ? kExitSomeFailed : kExitAllDrained;
}

bool Supervisor::AllStopped() const {
  return std::all_of(servers_.begin(), servers_.end(), [](const auto& server) {
    return server->life.state() == LifeState::kStopped;
  });
}

void Supervisor::StartWhatIsDue() {
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->life.MustStart(Clock::Steady().Now())) {
      Start(*servers_[i], i);
    }
  }
}

void Supervisor::Start(Server& server, size_t index) {
  auto process =
      ChildProcess::Start(server.plan.command, server.plan.environment);
  if (!process.ok()) {
    Say(absl::StrCat(server.plan.label, ": ", process.status().message()));
    server.life.StartFailed(Clock::Steady().Now());
    TellFailedStarts(server, process.status().message());
    return;
  }
  server.process.emplace(*std::move(process));
  server.has_output = true;
  server.life.Started();
  probe_->Watch(index);
}

void Supervisor::WaitForNews() {
  TimePoint until = kill_at_;
  std::vector<pollfd> files = {{signal_fd_, POLLIN, 0},
                               {probe_->event_fd(), POLLIN, 0}};
  std::vector<Server*> writers;
  for (const auto& server : servers_) {
    until =
        std::min({until, server->life.next_start(), server->life.gone_by()});
    if (server->process.has_value() && server->has_output) {
      files.push_back({server->process->output_fd(), POLLIN, 0});
      writers.push_back(server.get());
    }
  }
  poll(files.data(), files.size(), PollTimeout(until, Clock::Steady().Now()));
  for (Server* const writer : writers) {
    Forward(*writer);
  }
  for (const ReadyChange& change : probe_->TakeChanges()) {
    TakeChange(change);
  }
  TakeSignals();
  if (Clock::Steady().Now() >= kill_at_) {
    kill_at_ = kNever;
    KillAll();
  }
  TellStuck();
}

void Supervisor::Say(absl::string_view line) { out_.Write(Labeled(line)); }

void Supervisor::Log(std::string lines) {
  if (!lines.empty()) {
    log_.Write(std::move(lines));
  }
}

void Supervisor::TakeChange(const ReadyChange& change) {
  Server& server = *servers_[change.server];
  if (change.to != ReadyChange::To::kHung) {
    server.life.Answered(change.to == ReadyChange::To::kReady,
                         Clock::Steady().Now());
    return;
  }
  if (server.process.has_value() &&
      server.life.state() != LifeState::kStopping) {
    Say(absl::StrCat(server.plan.label,
                     ": hangs: no answer that says it is live for ",
                     "--hang-timeout-secs; it is killed"));
    Kill(server);
  }
}

// No more at once than a pipe holds: the others have their turn too.
void Supervisor::Forward(Server& server) {
  char bytes[kPipeBytes / kReadsATurn];
  for (int i = 0; i < kReadsATurn; ++i) {
    const ssize_t size =
        read(server.process->output_fd(), bytes, sizeof(bytes));
    if (size <= 0) {
      server.has_output = size < 0;
      return;
    }
    Log(server.relay.Take({bytes, static_cast<size_t>(size)}));
  }
}

void Supervisor::TakeSignals() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGUSR1) {
      TellAll();
      AskStates();
    } else if (number != SIGCHLD) {
      TakeStop(number);
    }
  }
  ReapAll();  // several deaths may be one SIGCHLD
}

void Supervisor::TakeStop(int number) {
  const StopWish::Kind kind = stop_.Take(number, Clock::Steady().Now());
  if (kind == StopWish::Kind::kFirst) {
    StopAll(number);
  } else if (kind == StopWish::Kind::kSecond && !second_signal_.has_value()) {
    second_signal_ = number;
    KillAll();
  }
}

void Supervisor::ReapAll() {
  for (size_t i = 0; i < servers_.size(); ++i) {
    Server& server = *servers_[i];
    const auto end =
        server.process.has_value() ? server.process->Reap() : std::nullopt;
    if (!end.has_value()) {
      continue;
    }
    probe_->Unwatch(i);
    Forward(server);
    Log(server.relay.TakeRest());
    server.process.reset();
    server.life.Ended(*end, Clock::Steady().Now());
    TellFailedStarts(server, server.relay.TakeLastLine());
    server.has_failed = !end->is_success();
  }
}

// Once, when there are so many: it may be what only a person can mend.
void Supervisor::TellFailedStarts(const Server& server,
                                  absl::string_view last) {
  if (server.life.state() != LifeState::kWaiting ||
      server.life.failed_starts() != kFailedStartsToTell) {
    return;
  }
  Say(absl::StrCat(
      server.plan.label, ": CANNOT START: ", kFailedStartsToTell,
      " starts in a row failed before it was ready, the last with: ",
      last.empty() ? "nothing said" : last,
      "; it is tried on, with at most --restart-max-delay-secs between"));
}

void Supervisor::StopAll(int signal) {
  Say(absl::StrCat("stops all servers: SIG", sigabbrev_np(signal)));
  kill_at_ = Clock::Steady().Now() + options_.stop_timeout;
  for (size_t i = 0; i < servers_.size(); ++i) {
    Server& server = *servers_[i];
    server.has_failed = server.life.state() == LifeState::kWaiting;
    server.life.Stop();
    if (server.life.state() == LifeState::kStopped) {
      Leave(server, i);  // where it is stuck
    } else {
      server.process->Signal(SIGTERM);
    }
  }
}

// Only of those that were ready: the signal would end one that has just begun.
void Supervisor::AskStates() {
  for (const auto& server : servers_) {
    const LifeState state = server->life.state();
    if (state == LifeState::kReady || state == LifeState::kNotReady) {
      server->process->Signal(SIGUSR1);
    }
  }
}

void Supervisor::KillAll() {
  Say("kills what has not ended");
  for (const auto& server : servers_) {
    if (server->process.has_value()) {
      Kill(*server);
    }
  }
}

void Supervisor::Kill(Server& server) {
  server.process->Signal(SIGKILL);
  server.life.Killed(Clock::Steady().Now());
}

void Supervisor::TellStuck() {
  for (size_t i = 0; i < servers_.size(); ++i) {
    Server& server = *servers_[i];
    if (!server.life.IsStuck(Clock::Steady().Now())) {
      continue;
    }
    const bool is_left = server.life.state() == LifeState::kStopped;
    Say(absl::StrCat(
        server.plan.label, ": NOT GONE: expected SIGKILL to end pid ",
        server.process->pid(), " within ",
        std::chrono::duration_cast<std::chrono::seconds>(ServerLife::kGone)
            .count(),
        " s, it has not: a call into a driver or the kernel holds it (a thread "
        "in state D by ps -L); reset the GPU, or restart the node; ",
        is_left ? "it is not waited for"
                : "its server is started again when it is gone"));
    if (is_left) {
      Leave(server, i);
    }
  }
}

void Supervisor::Leave(Server& server, size_t index) {
  if (server.process.has_value()) {
    probe_->Unwatch(index);
    server.process.reset();
    server.has_failed = true;
  }
}

void Supervisor::TellChanges() {
  bool is_changed = false;
  for (const auto& server : servers_) {
    const Told now = {server->life.state(), PidOf(*server),
                      server->life.restarts()};
    if (now != server->told) {
      server->told = now;
      is_changed = true;
      Say(StatusLine(StatusOf(*server), Clock::Steady().Now()));
    }
  }
  if (is_changed) {
    WriteStatusFile();
  }
}

void Supervisor::TellAll() {
  for (const auto& server : servers_) {
    Say(StatusLine(StatusOf(*server), Clock::Steady().Now()));
  }
}

// By renaming, so that a reader sees one state or the next.
void Supervisor::WriteStatusFile() {
  if (options_.status_file.empty()) {
    return;
  }
  std::vector<ServerStatus> all;
  for (const auto& server : servers_) {
    all.push_back(StatusOf(*server));
  }
  const std::string text = StatusJson(all);
  const std::string next = options_.status_file + ".next";
  std::FILE* const file = std::fopen(next.c_str(), "we");
  bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(),
                                                   file) == text.size();
  is_written = (file == nullptr || std::fclose(file) == 0) && is_written;
  if (!is_written || std::rename(next.c_str(), options_.status_file.c_str())) {
    Say(absl::StrCat("cannot write ", options_.status_file, ": ",
                     strerror(errno)));
  }
}

}  // namespace ferry::launch
