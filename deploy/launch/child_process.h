// ChildProcess runs one server, which does not outlive the launcher.
//
// It is in a process group of its own, so that a Ctrl-C of the terminal reaches
// it once, through the launcher, and not twice. Where the launcher dies it gets
// SIGTERM from the kernel, and drains. What it writes, to either stream, comes
// through one pipe.
//
// Thread safety: thread-compatible. Made by the main thread: the kernel's
// SIGTERM comes when the thread that made the process ends.
// Errors: of Start(): INTERNAL with the system's reason.
#ifndef FERRY_DEPLOY_LAUNCH_CHILD_PROCESS_H_
#define FERRY_DEPLOY_LAUNCH_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/launch/server_life.h"

namespace ferry::launch {

class ChildProcess {
 public:
  // `environment` replaces or adds to that of this process.
  static absl::StatusOr<ChildProcess> Start(
      const std::vector<std::string>& command,
      const std::vector<std::string>& environment);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  // Closes the pipe; the process goes on.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  int output_fd() const { return output_fd_; }  // never blocks

  void Signal(int number) const;

  // Returns how it ended, once; nothing while it runs.
  std::optional<ProcessEnd> Reap() const;

 private:
  ChildProcess(pid_t pid, int output_fd) : pid_(pid), output_fd_(output_fd) {}

  pid_t pid_;
  int output_fd_;
};

}  // namespace ferry::launch

#endif  // FERRY_DEPLOY_LAUNCH_CHILD_PROCESS_H_
