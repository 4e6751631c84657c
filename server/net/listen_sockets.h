// ListenSockets are the bound TCP sockets of one address and port.
//
// Life: Bind() takes the port, so that no other process can; clients are
// refused until Listen(); the destructor gives the port back.
//
// The address is an IP address, or a name that stands for one or several. One
// that means all addresses, 0.0.0.0 or ::, means those of both families, as
// with gRPC; where the system has no IPv6, those of IPv4.
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

  ListenSockets(ListenSockets&& other) noexcept
      : fds_(std::exchange(other.fds_, {})), port_(other.port_) {}
  ListenSockets& operator=(ListenSockets&& other) noexcept {
    std::swap(fds_, other.fds_);
    std::swap(port_, other.port_);
    return *this;
  }
  ~ListenSockets() { Close(); }

  absl::Status Listen();

  // Refuses clients from now on, also those that were not accepted yet.
  void Close();

  int port() const { return port_; }
  // Nonblocking; at least one before Close().
  const std::vector<int>& fds() const { return fds_; }

  // Gives the sockets to the caller, which closes them.
  std::vector<int> Release() { return std::exchange(fds_, {}); }

 private:
  enum class Families { kItsOwn, kBoth };  // of the addresses that it serves

  ListenSockets() = default;

  // Binds one more, to the port of those before it; false with errno set.
  bool Add(const addrinfo& to, Families families);

  std::vector<int> fds_;
  int port_ = 0;
};

// Returns whether it is an IP address rather than a name.
bool IsIpAddress(const std::string& address);

// Returns "127.0.0.1:8001", or "[::1]:8001".
std::string HostAndPort(const std::string& address, int port);

}  // namespace ferry

#endif  // FERRY_SERVER_NET_LISTEN_SOCKETS_H_
