// Supervisor runs the servers of a plan: starts them, starts again what ends,
// passes signals on, tells how each is, and ends when all have.
//
// SIGTERM, SIGINT, SIGHUP, SIGQUIT: every server gets SIGTERM, drains and ends.
// A second wish (base/stop_wish.h), or the end of stop_timeout: SIGKILL.
// SIGUSR1: all status lines, and each server that is ready logs its state.
// SIGHUP stays ignored where it was. A server that hangs gets SIGKILL, and
// starts again as one that failed; one that is not gone after it is told of,
// once, and not waited for at the end. A server that is never ready is told of
// once, after some starts in a row, with its last line. Status lines go to
// standard output, the servers' own to standard error; where these are not
// read, lines are dropped and counted.
//
// Thread safety: one thread calls, the main thread, before any other is
// started: the signals are blocked there, and every other thread inherits that.
#ifndef FERRY_DEPLOY_LAUNCH_SUPERVISOR_H_
#define FERRY_DEPLOY_LAUNCH_SUPERVISOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/line_writer.h"
#include "base/stop_wish.h"
#include "deploy/launch/child_process.h"
#include "deploy/launch/launch_plan.h"
#include "deploy/launch/line_relay.h"
#include "deploy/launch/ready_probe.h"
#include "deploy/launch/server_life.h"
#include "deploy/launch/status_text.h"

namespace ferry::launch {

inline constexpr int kExitAllDrained = 0;
inline constexpr int kExitNotStarted = 1;  // wrong flags, no server program
inline constexpr int kExitSomeFailed = 2;  // or were down when told to stop

struct SupervisorOptions {
  BackOff back_off;
  Duration stop_timeout = Milliseconds(60'000);
  // Without an answer about its health for as long, a server is killed; 0:
  // none.
  Duration hang_timeout = Milliseconds(30'000);
  std::string status_file;  // JSON, replaced at each change; empty: none
};

class Supervisor {
 public:
  Supervisor(std::vector<ServerPlan> plans, const SupervisorOptions& options);
  ~Supervisor();

  // Returns the exit code: of the three above, or 128 + n where a second
  // signal n ended it.
  int Run();

 private:
  // What a status line was printed for.
  struct Told {
    LifeState state = LifeState::kWaiting;
    pid_t pid = 0;
    int64_t restarts = 0;

    bool operator==(const Told&) const = default;
  };

  struct Server {
    Server(const ServerPlan& plan_given, const BackOff& back_off, TimePoint now)
        : plan(plan_given), life(back_off, now), relay(plan.label) {}

    const ServerPlan plan;
    ServerLife life;
    LineRelay relay;
    std::optional<ChildProcess> process;
    bool has_output = false;  // its end of the pipe is open
    bool has_failed = false;  // its last process, or it has none to be stopped
    Told told;
  };

  bool AllStopped() const;
  void StartWhatIsDue();
  void Start(Server& server, size_t index);
  void WaitForNews();
  void TakeChange(const ReadyChange& change);
  void TakeSignals();
  void TakeStop(int number);
  void ReapAll();
  void TellFailedStarts(const Server& server, absl::string_view last);
  void Forward(Server& server);
  void StopAll(int signal);
  void AskStates();
  void Kill(Server& server);
  void KillAll();
  // Tells of what was killed and is not gone.
  void TellStuck();
  // Takes leave of a process that is not waited for.
  void Leave(Server& server, size_t index);
  void TellChanges();
  void TellAll();
  void WriteStatusFile();
  void Say(absl::string_view line);
  void Log(std::string lines);
  static pid_t PidOf(const Server& server) {
    return server.process.has_value() ? server.process->pid() : 0;
  }
  static ServerStatus StatusOf(const Server& server) {
    return {&server.plan, &server.life, PidOf(server)};
  }

  const SupervisorOptions options_;
  LineWriter out_;  // status lines
  LineWriter log_;  // what the servers write
  std::vector<std::unique_ptr<Server>> servers_;
  int signal_fd_ = -1;
  StopWish stop_;
  std::optional<int> second_signal_;
  TimePoint kill_at_ = kNever;
  std::unique_ptr<ReadyProbe> probe_;
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_SUPERVISOR_H_
