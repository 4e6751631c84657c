// Tests whose connection a socket is.
#include "server/net/peer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "server/net/listen_sockets.h"
#include "tests/server/net/loopback_client.h"

namespace ferry {
namespace {

// Returns of which peer a connection to that address is.
std::optional<std::string> PeerAt(const std::string& address, int family) {
  auto sockets = ListenSockets::Bind(address, 0);
  EXPECT_TRUE(sockets.ok() && sockets->Listen().ok());
  const LoopbackClient client(sockets->port(), family);
  const int fd = accept(sockets->fds().front(), nullptr, nullptr);
  const std::optional<std::string> peer = PeerOf(fd);
  close(fd);
  return peer;
}

TEST(PeerOfTest, IsAnIpv4AddressOrANetworkOfIpv6) {
  EXPECT_EQ(PeerAt("127.0.0.1", AF_INET), std::string("\x7f\0\0\x01", 4));
  EXPECT_EQ(PeerAt("::1", AF_INET6), std::string(8, '\0'));
}

TEST(PeerOfTest, IsNoneOfAUnixSocketAndNothingOnceItIsGone) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_EQ(PeerOf(pair[0]), "");
  close(pair[0]);
  close(pair[1]);
  EXPECT_EQ(PeerOf(pair[0]), std::nullopt);
}

}  // namespace
}  // namespace ferry
