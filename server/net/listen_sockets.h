// ListenSockets are the bound sockets of one address and port.
//
// Life: Bind() takes the port, so that no other process can; clients are
// refused until Listen(); the destructor gives the port back.
//
// The address is an IP address, or a name that stands for one or several. One
// that means all addresses, 0.0.0.0 or ::, means those of both families, as
// with gRPC; where the system has no IPv6, those of IPv4. Or it is unix:FILE,
// a UNIX socket of the mode 0660, which has no port: FILE.lock beside it says
// whose it is, and what an earlier process left there is replaced.
//
// Thread safety: thread-compatible. Move-only.
// Errors: INVALID_ARGUMENT for an address that is none, UNAVAILABLE where it
// cannot be listened on; the text has neither address nor port.
#ifndef FERRY_SERVER_NET_LISTEN_SOCKETS_H_
#define FERRY_SERVER_NET_LISTEN_SOCKETS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct addrinfo;

namespace ferry {

class ListenSockets {
 public:
  // Port 0 picks a free one.
  static absl::StatusOr<ListenSockets> Bind(const std::string& address,
                                            int port);

  ListenSockets(ListenSockets&& other) noexcept { *this = std::move(other); }
  ListenSockets& operator=(ListenSockets&& other) noexcept {
    std::swap(fds_, other.fds_);
    std::swap(port_, other.port_);
    std::swap(is_local_, other.is_local_);
    std::swap(file_, other.file_);
    std::swap(lock_fd_, other.lock_fd_);
    return *this;
  }
  ~ListenSockets() { Close(); }

  absl::Status Listen();

  // Refuses clients from now on, also those that were not accepted yet.
  void Close();

  int port() const { return port_; }
  // Whether clients of this machine alone reach it.
  bool is_local() const { return is_local_; }
  // Nonblocking; at least one before Close().
  const std::vector<int>& fds() const { return fds_; }

  // Gives the sockets to the caller, which closes them.
  std::vector<int> Release() { return std::exchange(fds_, {}); }

 private:
  enum class Families { kItsOwn, kBoth };  // of the addresses that it serves

  ListenSockets() = default;

  static absl::StatusOr<ListenSockets> BindFile(const std::string& file);
  // Binds one more, to the port of those before it; false with errno set.
  bool Add(const addrinfo& to, Families families);

  std::vector<int> fds_;
  int port_ = 0;
  bool is_local_ = true;
  std::string file_;  // of a UNIX socket that it has bound; else empty
  int lock_fd_ = -1;  // of the file's lock
};

// Returns what all sockets at one port, or UNIX socket, have in common; empty
// where it is bound to none.
std::string BoundName(int fd);

// Returns whether it is an IP address rather than a name.
bool IsIpAddress(const std::string& address);

// Returns "127.0.0.1:8001", "[::1]:8001" or "unix:FILE".
std::string HostAndPort(const std::string& address, int port);

}  // namespace ferry

#endif  // FERRY_SERVER_NET_LISTEN_SOCKETS_H_
