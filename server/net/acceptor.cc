// Implements Acceptor: a loop in poll().
#include "server/net/acceptor.h"

#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(50);
// Where connections come and go at the limit, health and the log do not
// flicker.
constexpr Duration kMinBlind = std::chrono::milliseconds(500);
constexpr int kAcceptsATurn = 256;

// Errors of one connection, which is gone; the next one may be sound (accept(2)
// lists them).
bool IsOfOneConnection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
      return true;
    default:
      return false;
  }
}

// Calls `act` with each socket of the process that has that name.
void ForEachFileAt(const std::string& name, absl::FunctionRef<void(int)> act) {
  std::error_code error;
  for (std::filesystem::directory_iterator file("/proc/self/fd", error), end;
       !error && file != end; file.increment(error)) {
    const std::string number = file->path().filename();
    int fd = -1;
    std::from_chars(number.data(), number.data() + number.size(), fd);
    if (fd >= 0 && BoundName(fd) == name) {
      act(fd);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(ListenSockets sockets,
                                                          Handlers handlers,
                                                          int first_reserved) {
  if (absl::Status status = sockets.Listen(); !status.ok()) {
    return status;
  }
  const int stop_fd = eventfd(0, EFD_CLOEXEC);
  if (stop_fd < 0) {
    return absl::UnavailableError(std::strerror(errno));
  }
  return std::unique_ptr<Acceptor>(new Acceptor(
      std::move(sockets), std::move(handlers), first_reserved, stop_fd));
}

Acceptor::Acceptor(ListenSockets sockets, Handlers handlers, int first_reserved,
                   int stop_fd)
    : sockets_(std::move(sockets)),
      handlers_(std::move(handlers)),
      first_reserved_(first_reserved),
      name_(BoundName(sockets_.fds().front())),
      stop_fd_(stop_fd) {
  thread_.Start([this] { Run(); });
}

void Acceptor::BeginStop() {
  if (stop_fd_ >= 0) {
    eventfd_write(stop_fd_, 1);
  }
}

bool Acceptor::StopBy(TimePoint until) {
  BeginStop();
  if (stop_fd_ < 0) {
    return true;
  }
  if (!thread_.JoinBy(until)) {
    return false;
  }
  close(std::exchange(stop_fd_, -1));
  sockets_.Close();
  return true;
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "ferry-accept");
  std::vector<pollfd> files = {{stop_fd_, POLLIN, 0}};
  for (const int fd : sockets_.fds()) {
    files.push_back({fd, POLLIN, 0});
  }
  for (;;) {
    poll(files.data(), is_paused_ ? 1 : files.size(),
         static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(
                              is_blind_ ? kRetry : kTurn)
                              .count()));
    turned_.store(Clock::Steady().Now(), std::memory_order_relaxed);
    if (files[0].revents != 0) {
      return;
    }
    is_paused_ = false;
    for (const int fd : sockets_.fds()) {
      AcceptSome(fd);
    }
    if (is_blind_ && !is_paused_ && HasRoom() &&
        Clock::Steady().Now() >= blind_until_) {
      SeeAgain();
    }
    handlers_.turned();
  }
}

void Acceptor::AcceptSome(int listen_fd) {
  for (int i = 0; i < kAcceptsATurn; ++i) {
    const int fd =
        accept4(listen_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= first_reserved_) {
      close(fd);
      BecomeBlind(absl::StrCat("connections have all of their ",
                               first_reserved_, " files"));
      no_file_.fetch_add(1, std::memory_order_relaxed);
    } else if (fd >= 0) {
      if (handlers_.take(listen_fd, fd)) {
        accepted_.fetch_add(1, std::memory_order_relaxed);
      } else {
        close(fd);
        not_taken_.fetch_add(1, std::memory_order_relaxed);
      }
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (!IsOfOneConnection(errno)) {
      is_paused_ = true;
      failures_.fetch_add(1, std::memory_order_relaxed);
      BecomeBlind(std::strerror(errno));
      return;
    }
  }
}

void Acceptor::BecomeBlind(const std::string& why) {
  if (is_blind_) {
    return;
  }
  is_blind_ = true;
  no_file_before_ = no_file_.load(std::memory_order_relaxed);
  blind_until_ = Clock::Steady().Now() + kMinBlind;
  spdlog::warn(
      "takes no connections and is not ready: {}; raise the limit of open "
      "files, which is RLIMIT_NOFILE (ulimit -n, LimitNOFILE)",
      why);
  handlers_.tell(true);
}

// Opens what a connection takes, a file that is new to the whole system.
bool Acceptor::HasRoom() const {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd >= 0) {
    close(fd);
  }
  return fd >= 0 && fd < first_reserved_;
}

void Acceptor::SeeAgain() {
  is_blind_ = false;
  spdlog::info("takes connections again refused={}",
               no_file_.load(std::memory_order_relaxed) - no_file_before_);
  handlers_.tell(false);
}

Acceptor::Counts Acceptor::counts() const {
  return {.accepted = accepted_.load(std::memory_order_relaxed),
          .not_taken = not_taken_.load(std::memory_order_relaxed),
          .no_file = no_file_.load(std::memory_order_relaxed),
          .failures = failures_.load(std::memory_order_relaxed)};
}

size_t Acceptor::CountConnections() const {
  size_t connections = 0;
  ForEachFileAt(name_, [&connections](int fd) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    connections +=
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
                listens == 0
            ? 1
            : 0;
  });
  return connections;
}

void Acceptor::ShutConnections() const {
  // Not by shutdown(), which FrameFence has in its place: they do not linger.
  ForEachFileAt(name_, [](int fd) { syscall(SYS_shutdown, fd, SHUT_RDWR); });
}

}  // namespace ferry
