// Implements ChildProcess: posix_spawn of /proc/self/exe.
#include "bench/processes/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace ferry::bench {
namespace {

constexpr Duration kEndLimit = std::chrono::seconds(5);
constexpr char kThisProgram[] = "/proc/self/exe";

absl::Status NotStarted(int error) {
  return absl::InternalError(
      absl::StrCat("cannot start a process: ", std::strerror(error)));
}

// Returns 0, or an error's number.
int Spawn(const std::vector<std::string>& arguments, int socket, pid_t& pid) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, ChildProcess::kChildSocket);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                   0);
  const int error =
      posix_spawn(&pid, kThisProgram, &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Waits until the other end is closed; false: it was not within the limit.
bool AwaitClosed(int socket) {
  const TimePoint until = Clock::Steady().Now() + kEndLimit;
  std::array<char, 4096> unread;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - Clock::Steady().Now());
    pollfd ended = {socket, POLLIN, 0};
    if (left.count() <= 0 ||
        poll(&ended, 1, static_cast<int>(left.count())) == 0) {
      return false;
    }
    const ssize_t got = recv(socket, unread.data(), unread.size(), 0);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return true;
    }
  }
}

std::string Describe(int status) {
  if (WIFSIGNALED(status)) {
    return absl::StrCat("was killed by signal ", WTERMSIG(status), " (",
                        strsignal(WTERMSIG(status)), ")");
  }
  return absl::StrCat("ended with code ", WEXITSTATUS(status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return NotStarted(errno);
  }
  pid_t pid = 0;
  const int error = Spawn(arguments, ends[1], pid);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return NotStarted(error);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, ends[0]));
}

ChildProcess::~ChildProcess() { End(); }

std::string ChildProcess::End() {
  if (!ending_.empty()) {
    return ending_;
  }
  channel_.EndSending();
  if (!AwaitClosed(channel_.socket())) {
    kill(pid_, SIGKILL);
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = Describe(status);
  return ending_;
}

}  // namespace ferry::bench
