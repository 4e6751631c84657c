// Implements ListenSockets over the resolver and sockets of the system.
#include "server/net/listen_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace ferry {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* first) const { freeaddrinfo(first); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Returns the first of them; null with `error` of the resolver set.
Addresses Resolve(const std::string& address, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* first = nullptr;
  error = getaddrinfo(address.c_str(), nullptr, &hints, &first);
  return Addresses(error == 0 ? first : nullptr);
}

in_port_t& PortOf(sockaddr& address) {
  return address.sa_family == AF_INET6
             ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
             : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

int BoundPort(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(PortOf(reinterpret_cast<sockaddr&>(address)));
}

void Set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

bool MeansAll(const std::string& address) {
  in_addr v4;
  in6_addr v6;
  return (inet_pton(AF_INET, address.c_str(), &v4) == 1 &&
          v4.s_addr == INADDR_ANY) ||
         (inet_pton(AF_INET6, address.c_str(), &v6) == 1 &&
          IN6_IS_ADDR_UNSPECIFIED(&v6));
}

constexpr absl::string_view kUnix = "unix:";

bool IsLoopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

absl::Status Unavailable(absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(what, std::strerror(error)));
}

// Removes what a process before this one left. Errors: UNAVAILABLE where it is
// no socket, or another program listens at it.
absl::Status RemoveStale(const sockaddr_un& address) {
  struct stat info {};
  if (lstat(address.sun_path, &info) != 0) {
    return absl::OkStatus();
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::UnavailableError("it is there, and is no socket");
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const bool is_stale = fd >= 0 &&
                        connect(fd, reinterpret_cast<const sockaddr*>(&address),
                                sizeof(address)) != 0 &&
                        errno == ECONNREFUSED;
  if (fd >= 0) {
    close(fd);
  }
  return is_stale && unlink(address.sun_path) == 0
             ? absl::OkStatus()
             : Unavailable("", EADDRINUSE);
}

bool IsListedBefore(const addrinfo& first, const addrinfo& address) {
  for (const addrinfo* other = &first; other != &address;
       other = other->ai_next) {
    if (other->ai_addrlen == address.ai_addrlen &&
        std::memcmp(other->ai_addr, address.ai_addr, address.ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<ListenSockets> ListenSockets::Bind(const std::string& address,
                                                  int port) {
  if (absl::StartsWith(address, kUnix)) {
    return BindFile(address.substr(kUnix.size()));
  }
  int error = 0;
  ListenSockets sockets;
  sockets.port_ = port;
  const bool means_all = MeansAll(address);
  if (means_all) {
    const Addresses all = Resolve("::", error);
    if (all != nullptr && sockets.Add(*all, Families::kBoth)) {
      return sockets;
    }
    if (all != nullptr && errno == EADDRINUSE) {
      return absl::UnavailableError(std::strerror(errno));
    }
  }
  const Addresses addresses = Resolve(means_all ? "0.0.0.0" : address, error);
  if (addresses == nullptr) {
    return absl::InvalidArgumentError(gai_strerror(error));
  }
  int failed = 0;
  for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
    if (IsListedBefore(*addresses, *to)) {
      continue;  // as where two lines of /etc/hosts say the same
    }
    if (!sockets.Add(*to, Families::kItsOwn) && failed != EADDRINUSE) {
      failed = errno;
    }
  }
  // A name may stand for an address that this machine does not have, as
  // localhost for ::1; a port that another has is never passed over.
  if (sockets.fds_.empty() || failed == EADDRINUSE) {
    return absl::UnavailableError(std::strerror(failed));
  }
  return sockets;
}

absl::StatusOr<ListenSockets> ListenSockets::BindFile(const std::string& file) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (file.empty() || file.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected the path of a socket in 1 to ",
                     sizeof(address.sun_path) - 1, " bytes"));
  }
  file.copy(address.sun_path, file.size());
  ListenSockets sockets;
  const std::string lock = absl::StrCat(file, ".lock");
  sockets.lock_fd_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (sockets.lock_fd_ < 0) {
    return Unavailable(absl::StrCat(lock, ": "), errno);
  }
  if (flock(sockets.lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return Unavailable("", EADDRINUSE);
  }
  if (absl::Status status = RemoveStale(address); !status.ok()) {
    return status;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Unavailable("", errno);
  }
  sockets.fds_.push_back(fd);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return Unavailable("", errno);
  }
  sockets.file_ = file;
  // No client can connect before Listen().
  return chmod(file.c_str(), 0660) == 0
             ? absl::StatusOr<ListenSockets>(std::move(sockets))
             : Unavailable("", errno);
}

bool ListenSockets::Add(const addrinfo& to, Families families) {
  const int fd =
      socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return false;
  }
  if (to.ai_family == AF_INET6) {
    Set(fd, IPPROTO_IPV6, IPV6_V6ONLY, families == Families::kBoth ? 0 : 1);
  }
  PortOf(*to.ai_addr) = htons(static_cast<uint16_t>(port_));
  bool is_bound = bind(fd, to.ai_addr, to.ai_addrlen) == 0;
  if (!is_bound && errno == EADDRINUSE) {
    // Connections of a process before this one may be ending yet. Not set at
    // first: a port is no other's only where it was bound without.
    Set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    is_bound = bind(fd, to.ai_addr, to.ai_addrlen) == 0;
  }
  if (!is_bound) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  fds_.push_back(fd);
  port_ = BoundPort(fd);
  is_local_ = is_local_ && IsLoopback(*to.ai_addr);
  return true;
}

absl::Status ListenSockets::Listen() {
  for (const int fd : fds_) {
    // What it accepts inherits it, so that the next process can bind the port.
    Set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (listen(fd, SOMAXCONN) != 0) {
      return absl::UnavailableError(std::strerror(errno));
    }
  }
  return absl::OkStatus();
}

void ListenSockets::Close() {
  for (const int fd : Release()) {
    close(fd);
  }
  if (!file_.empty()) {
    unlink(std::exchange(file_, "").c_str());
  }
  if (lock_fd_ >= 0) {
    close(std::exchange(lock_fd_, -1));
  }
}

std::string BoundName(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  switch (address.ss_family) {
    case AF_INET:
    case AF_INET6:
      return std::to_string(
          ntohs(PortOf(reinterpret_cast<sockaddr&>(address))));
    case AF_UNIX:
      return reinterpret_cast<sockaddr_un&>(address).sun_path;
    default:
      return "";
  }
}

bool IsIpAddress(const std::string& address) {
  in6_addr any;
  return inet_pton(AF_INET, address.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, address.c_str(), &any) == 1;
}

std::string HostAndPort(const std::string& address, int port) {
  if (absl::StartsWith(address, kUnix)) {
    return address;
  }
  const bool is_v6 = address.find(':') != std::string::npos;
  return is_v6 ? absl::StrCat("[", address, "]:", port)
               : absl::StrCat(address, ":", port);
}

}  // namespace ferry
