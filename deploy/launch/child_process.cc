// Implements ChildProcess by fork and exec, for PR_SET_PDEATHSIG in the child.
#include "deploy/launch/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferry::launch {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot make a pipe: ", strerror(errno)));
  }
  return Pipe{ends[0], ends[1]};
}

void Close(const Pipe& pipe) {
  close(pipe.read_end);
  close(pipe.write_end);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// `added` first: of two with a name, the first counts, and the second goes.
std::vector<std::string> Environment(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    bool is_replaced = false;
    for (const std::string& own : added) {
      is_replaced |= absl::StartsWith(text, own.substr(0, own.find('=') + 1));
    }
    if (!is_replaced) {
      all.emplace_back(text);
    }
  }
  return all;
}

// Between fork and exec: only what may be called there. Tells why it failed by
// writing errno.
[[noreturn]] void BecomeServer(pid_t parent, const Pipe& output, int error_fd,
                               char* const* command, char* const* environment) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {  // which died before the line above
    _exit(1);
  }
  if (dup2(output.write_end, STDOUT_FILENO) >= 0 &&
      dup2(output.write_end, STDERR_FILENO) >= 0) {
    execve(command[0], command, environment);
  }
  const int error = errno;
  const ssize_t written = write(error_fd, &error, sizeof(error));
  _exit(written == sizeof(error) ? 1 : 2);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(
    const std::vector<std::string>& command,
    const std::vector<std::string>& environment) {
  const std::vector<std::string> whole = Environment(environment);
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(whole);
  const auto output = MakePipe();
  if (!output.ok()) {
    return output.status();
  }
  const auto errors = MakePipe();
  if (!errors.ok()) {
    Close(*output);
    return errors.status();
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    BecomeServer(parent, *output, errors->write_end, arguments.data(),
                 variables.data());
  }
  int error = pid < 0 ? errno : 0;
  close(output->write_end);
  close(errors->write_end);
  // Ends with nothing when exec closes the other end.
  if (pid > 0 && read(errors->read_end, &error, sizeof(error)) > 0) {
    waitpid(pid, nullptr, 0);
  }
  close(errors->read_end);
  if (error != 0) {
    close(output->read_end);
    return absl::InternalError(
        absl::StrCat("cannot start ", command[0], ": ", strerror(error)));
  }
  fcntl(output->read_end, F_SETFL, O_NONBLOCK);
  return ChildProcess(pid, output->read_end);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(other.pid_), output_fd_(std::exchange(other.output_fd_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_fd_, other.output_fd_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (output_fd_ >= 0) {
    close(output_fd_);
  }
}

void ChildProcess::Signal(int number) const { kill(pid_, number); }

std::optional<ProcessEnd> ChildProcess::Reap() const {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) {
    return std::nullopt;
  }
  return WIFSIGNALED(status) ? ProcessEnd{.signal = WTERMSIG(status)}
                             : ProcessEnd{.code = WEXITSTATUS(status)};
}

}  // namespace ferry::launch
