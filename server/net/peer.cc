// Implements PeerOf() over getpeername(2).
#include "server/net/peer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace ferry {
namespace {

// An IPv6 client has a network of 64 bits to choose addresses from (RFC 4291,
// 2.5.4); an IPv4 address stands in the last bytes of one that maps it.
constexpr size_t kNetworkBytes = 8;
constexpr size_t kIpv4InIpv6 = 12;

std::string Bytes(const void* first, size_t count) {
  return std::string(static_cast<const char*>(first), count);
}

}  // namespace

std::optional<std::string> PeerOf(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    return std::nullopt;
  }
  if (peer.ss_family == AF_INET) {
    const in_addr& address = reinterpret_cast<sockaddr_in&>(peer).sin_addr;
    return Bytes(&address, sizeof(address));
  }
  if (peer.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<sockaddr_in6&>(peer).sin6_addr;
    return IN6_IS_ADDR_V4MAPPED(&address)
               ? Bytes(&address.s6_addr[kIpv4InIpv6], sizeof(in_addr))
               : Bytes(&address, kNetworkBytes);
  }
  return "";
}

}  // namespace ferry
