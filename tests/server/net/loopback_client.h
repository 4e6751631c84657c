// LoopbackClient is one TCP connection to a port of this machine.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_SERVER_NET_LOOPBACK_CLIENT_H_
#define FERRY_TESTS_SERVER_NET_LOOPBACK_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace ferry {

class LoopbackClient {
 public:
  // Not connected yet. Family AF_INET or AF_INET6.
  explicit LoopbackClient(int family = AF_INET)
      : family_(family), fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  LoopbackClient(int port, int family) : LoopbackClient(family) {
    Connect(port);
  }
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;
  ~LoopbackClient() { close(fd_); }

  // Binds to that IPv4 address of loopback, 127.0.0.`last`.
  void ComeFrom(uint8_t last) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl((IN_LOOPBACKNET << 24) | last);
    error_ =
        bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0
            ? 0
            : errno;
  }

  void Connect(int port) {
    const auto network_port = htons(static_cast<uint16_t>(port));
    if (family_ == AF_INET) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = network_port;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      Connect(reinterpret_cast<sockaddr*>(&address), sizeof(address));
    } else {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = network_port;
      address.sin6_addr = in6addr_loopback;
      Connect(reinterpret_cast<sockaddr*>(&address), sizeof(address));
    }
  }

  int fd() const { return fd_; }

  // 0 where it is connected, else errno.
  int error() const { return error_; }

  // Waits until the other side ends the connection; false if it sends first.
  bool IsEnded() const {
    char byte = 0;
    return recv(fd_, &byte, 1, 0) <= 0;
  }
  // Whether it is ended already.
  bool IsEndedNow() const {
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  void Connect(const sockaddr* address, socklen_t size) {
    error_ = connect(fd_, address, size) == 0 ? 0 : errno;
  }

  const int family_;
  const int fd_;
  int error_ = 0;
};

}  // namespace ferry

#endif  // FERRY_TESTS_SERVER_NET_LOOPBACK_CLIENT_H_
