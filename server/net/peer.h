// PeerOf() tells whose connection a socket is, for bounds of each peer.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_NET_PEER_H_
#define FERRY_SERVER_NET_PEER_H_

#include <optional>
#include <string>

namespace ferry {

// Returns an IPv4 address, the first 64 bits of an IPv6 address, or "" for a
// UNIX socket; nothing where the peer is gone.
std::optional<std::string> PeerOf(int fd);

}  // namespace ferry

#endif  // FERRY_SERVER_NET_PEER_H_
