// Implements ProbeLoad with posix_spawn, a memory file and two pipes.
#include "server/control/probe_load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/owned_fd.h"
#include "base/write_all.h"
#include "models/files/temporary_folder.h"
#include "spdlog/spdlog.h"

namespace ferry {
namespace {

// How often it looks at memory and whether it is stopped, in milliseconds.
constexpr int kLookMs = 20;
// What is kept of the end of each stream.
constexpr size_t kMaxTextBytes = size_t{64} << 10;

// One stream of the process: its end of a pipe, and what came of it last.
struct Stream {
  OwnedFd read_end;
  OwnedFd write_end;
  std::string text;

  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return false;
    }
    read_end = OwnedFd(ends[0]);
    write_end = OwnedFd(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }

  // Reads what is there, of much a part; closes its end after the last of it.
  void Read() {
    std::array<char, 65536> buffer;  // what a pipe holds
    const ssize_t bytes = read(read_end.get(), buffer.data(), buffer.size());
    if (bytes > 0) {
      text.append(buffer.data(), static_cast<size_t>(bytes));
      if (text.size() > kMaxTextBytes) {
        text.erase(0, text.size() - kMaxTextBytes);
      }
    }
    if (bytes == 0) {
      read_end.Close();
    }
  }

  std::string LastLine() const {
    const std::vector<std::string> lines =
        absl::StrSplit(absl::StripAsciiWhitespace(text), '\n');
    return lines.back();
  }
};

absl::Status SystemError(absl::string_view what, int error) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot ", what, ": ", strerror(error)));
}

// Writes it to a file in memory, as a pipe could be full.
absl::Status WriteRequest(const ProbeRequest& request, OwnedFd& file) {
  file = OwnedFd(memfd_create("probe-load", MFD_CLOEXEC));
  const std::string text =
      absl::StrCat(getpid(), "\n", request.model, "\n", request.version, "\n",
                   request.in_fp32 ? 1 : 0, "\n", request.config_json);
  return file.get() >= 0 && WriteAll(file.get(), text) == 0 &&
                 lseek(file.get(), 0, SEEK_SET) == 0
             ? absl::OkStatus()
             : SystemError("keep the request of a probe load in memory", errno);
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command, int input,
                            int output, int errors) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  // It blocks no signal, unlike the server's threads, and a Ctrl-C of the
  // terminal does not reach it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, command.front().c_str(), &files,
                                &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return SystemError("start the process of a probe load", error);
  }
  return pid;
}

int64_t ResidentBytes(pid_t pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// The outcome that the process wrote; nothing where it wrote none.
std::optional<absl::Status> ParseOutcome(const std::string& text) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  int code = 0;
  if (!absl::SimpleAtoi(parts.first, &code)) {
    return std::nullopt;
  }
  return absl::Status(static_cast<absl::StatusCode>(code), parts.second);
}

// How it ended without an outcome.
absl::Status Died(int how, const Stream& errors) {
  const std::string last = errors.LastLine();
  const std::string said =
      last.empty() ? "" : absl::StrCat(", its last line: ", last);
  if (WIFEXITED(how)) {
    return absl::InternalError(
        absl::StrCat("expected an outcome of its probe load, its process ended "
                     "with the code ",
                     WEXITSTATUS(how), said));
  }
  const int signal = WTERMSIG(how);
  return signal == SIGKILL
             ? absl::ResourceExhaustedError(absl::StrCat(
                   "expected a load that ends, its probe load was killed, as "
                   "the kernel does where memory is out",
                   said))
             : absl::InternalError(absl::StrCat(
                   "expected files that load, its probe load in a process of "
                   "its own crashed with SIG",
                   sigabbrev_np(signal), said,
                   "; the file is damaged, or what it computes crashes"));
}

// Makes the process the first to be killed where memory is out.
void VolunteerForKill() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

absl::Status LoadVersion(ModelRepository& repository,
                         const ProbeRequest& request) {
  absl::StatusOr<ModelPlan> plan =
      repository.Plan(request.model, request.config_json);
  if (!plan.ok()) {
    return plan.status();
  }
  if (request.in_fp32) {
    FallBackTo(Precision::kFp32, plan->config);
  }
  if (plan->versions.count(request.version) == 0) {
    return absl::NotFoundError(
        absl::StrCat("model '", request.model, "' version ", request.version,
                     ": expected its folder, it is no longer there"));
  }
  return repository.Load(*plan, request.version, DeviceUse::kShared).status();
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t bytes = 0;
  while ((bytes = read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(bytes));
  }
  return text;
}

}  // namespace

absl::Status ProbeLoad::Try(const ProbeRequest& request,
                            absl::FunctionRef<bool()> is_stopped) const {
  const auto named = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat("model '", request.model, "' version ",
                                     request.version, ": ", status.message()));
  };
  OwnedFd input;
  if (absl::Status status = WriteRequest(request, input); !status.ok()) {
    return named(status);
  }
  Stream output;
  Stream errors;
  if (!output.Open() || !errors.Open()) {
    return named(SystemError("make a pipe for a probe load", errno));
  }
  const absl::StatusOr<pid_t> pid =
      Spawn(options_.command, input.get(), output.write_end.get(),
            errors.write_end.get());
  if (!pid.ok()) {
    return named(pid.status());
  }
  output.write_end.Close();
  errors.write_end.Close();
  const Clock& clock = Clock::Steady();
  const TimePoint deadline = clock.Now() + options_.timeout;
  absl::Status killed;  // why it was
  int how = 0;
  for (;;) {
    std::array<pollfd, 2> streams = {{{output.read_end.get(), POLLIN, 0},
                                      {errors.read_end.get(), POLLIN, 0}}};
    poll(streams.data(), streams.size(), kLookMs);
    output.Read();
    errors.Read();
    if (waitpid(*pid, &how, WNOHANG) == *pid) {
      break;
    }
    if (is_stopped()) {
      killed = absl::CancelledError("its probe load was stopped");
    } else if (clock.Now() >= deadline) {
      killed = absl::DeadlineExceededError(absl::StrCat(
          "expected a load within ",
          std::chrono::duration<double>(options_.timeout).count(),
          " s, its probe load in a process of its own took longer: a forward "
          "that does not end, or --probe-load-secs is too short"));
    } else if (options_.max_bytes > 0 &&
               ResidentBytes(*pid) > options_.max_bytes) {
      killed = absl::ResourceExhaustedError(absl::StrCat(
          "expected a load within ", options_.max_bytes,
          " bytes of memory, its probe load in a process of its own took more; "
          "--probe-load-bytes sets the bound"));
    }
    if (!killed.ok()) {
      kill(-*pid, SIGKILL);  // and what it started
      waitpid(*pid, &how, 0);
      TemporaryFolder::Sweep();
      return named(killed);
    }
  }
  output.Read();
  errors.Read();  // what was left fits into a pipe
  const std::optional<absl::Status> outcome = ParseOutcome(output.text);
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0 && outcome.has_value()) {
    if (!outcome->ok() && !errors.text.empty()) {
      spdlog::info("a probe load of model {} version={} wrote:\n{}",
                   request.model, request.version, errors.text);
    }
    return *outcome;  // names the model itself
  }
  TemporaryFolder::Sweep();  // what it had no time to remove
  return named(Died(how, errors));
}

void DieWithServer() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

int RunProbeLoad(ModelRepository& repository, int result_fd) {
  const std::vector<std::string> parts =
      absl::StrSplit(ReadAll(STDIN_FILENO), absl::MaxSplits('\n', 4));
  ProbeRequest request;
  pid_t parent = 0;
  if (parts.size() != 5 || !absl::SimpleAtoi(parts[0], &parent) ||
      !absl::SimpleAtoi(parts[2], &request.version)) {
    return 1;
  }
  request.model = parts[1];
  request.in_fp32 = parts[3] == "1";
  request.config_json = parts[4];
  if (getppid() != parent) {  // it died before DieWithServer()
    return 1;
  }
  VolunteerForKill();
  const absl::Status status = LoadVersion(repository, request);
  const std::string text = absl::StrCat(
      status.raw_code(), "\n", status.message().substr(0, kMaxTextBytes / 2));
  return WriteAll(result_fd, text) == 0 ? 0 : 1;
}

}  // namespace ferry
