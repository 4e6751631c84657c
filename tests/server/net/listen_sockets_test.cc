// Tests ListenSockets on loopback.
#include "server/net/listen_sockets.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/server/net/loopback_client.h"

namespace ferry {
namespace {

ListenSockets Bound(const std::string& address, int port = 0) {
  auto sockets = ListenSockets::Bind(address, port);
  EXPECT_TRUE(sockets.ok()) << sockets.status();
  return *std::move(sockets);
}

TEST(ListenSocketsTest, BoundPortIsBusyBeforeItIsListenedOn) {
  const ListenSockets first = Bound("127.0.0.1");
  const auto second = ListenSockets::Bind("127.0.0.1", first.port());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable)
      << second.status();
}

TEST(ListenSocketsTest, PortOfAllAddressesIsBusyForEachOfThem) {
  for (const char* all : {"0.0.0.0", "::"}) {
    const ListenSockets first = Bound(all);
    for (const char* address : {"127.0.0.1", "localhost", "0.0.0.0", "::"}) {
      EXPECT_EQ(ListenSockets::Bind(address, first.port()).status().code(),
                absl::StatusCode::kUnavailable)
          << all << " " << address;
    }
  }
}

TEST(ListenSocketsTest, ClientsAreRefusedUntilItListensAndOnceItIsClosed) {
  ListenSockets sockets = Bound("127.0.0.1");
  EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET).error(), ECONNREFUSED);
  ASSERT_TRUE(sockets.Listen().ok());
  EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET).error(), 0);
  sockets.Close();
  EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET).error(), ECONNREFUSED);
}

TEST(ListenSocketsTest, LoopbackAndUnixSocketsAreLocal) {
  EXPECT_TRUE(Bound("127.0.0.1").is_local());
  EXPECT_TRUE(Bound("127.1.2.3").is_local());
  EXPECT_TRUE(Bound("localhost").is_local());
  EXPECT_FALSE(Bound("0.0.0.0").is_local());
  EXPECT_FALSE(Bound("::").is_local());
  const std::string path = testing::TempDir() + "listen_sockets_test.sock";
  EXPECT_TRUE(Bound("unix:" + path).is_local());
}

TEST(ListenSocketsTest, UnixSocketIsOneProcessesUntilItIsClosed) {
  const std::string path = testing::TempDir() + "listen_sockets_test.own";
  const std::string address = "unix:" + path;
  {
    const ListenSockets first = Bound(address);
    EXPECT_EQ(BoundName(first.fds().front()), path);
    EXPECT_EQ(ListenSockets::Bind(address, 0).status().code(),
              absl::StatusCode::kUnavailable)
        << "also before it listens";
    ListenSockets moved = Bound("127.0.0.1");
    EXPECT_NE(BoundName(moved.fds().front()), path);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  ListenSockets again = Bound(address);
  EXPECT_TRUE(again.Listen().ok());
  for (const std::string& wrong :
       {std::string("unix:"), address + std::string(108, 'x')}) {
    EXPECT_EQ(ListenSockets::Bind(wrong, 0).status().code(),
              absl::StatusCode::kInvalidArgument)
        << wrong;
  }
  EXPECT_EQ(HostAndPort(address, 5), address);
}

TEST(ListenSocketsTest, AllAddressesMeansThoseOfBothFamilies) {
  if (!ListenSockets::Bind("::1", 0).ok()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  for (const char* all : {"0.0.0.0", "::"}) {
    ListenSockets sockets = Bound(all);
    ASSERT_TRUE(sockets.Listen().ok());
    EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET).error(), 0) << all;
    EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET6).error(), 0) << all;
  }
}

TEST(ListenSocketsTest, OneAddressMeansNoOther) {
  if (!ListenSockets::Bind("::1", 0).ok()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  ListenSockets sockets = Bound("::1");
  ASSERT_TRUE(sockets.Listen().ok());
  EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET6).error(), 0);
  EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET).error(), ECONNREFUSED);
}

TEST(ListenSocketsTest, EveryAddressOfANameIsServedOnOnePort) {
  ListenSockets sockets = Bound("localhost");
  ASSERT_TRUE(sockets.Listen().ok());
  EXPECT_EQ(LoopbackClient(sockets.port(), AF_INET).error(), 0);
}

TEST(ListenSocketsTest, PortWhoseConnectionsAreEndingCanBeBoundAnew) {
  ListenSockets first = Bound("127.0.0.1");
  ASSERT_TRUE(first.Listen().ok());
  std::optional<LoopbackClient> client(std::in_place, first.port(), AF_INET);
  ASSERT_EQ(client->error(), 0);
  int taken = -1;
  while (taken < 0) {
    taken = accept(first.fds().front(), nullptr, nullptr);
  }
  close(taken);  // it ends the connection first: TIME_WAIT is on its side
  EXPECT_TRUE(client->IsEnded());
  client.reset();
  first.Close();
  ListenSockets second = Bound("127.0.0.1", first.port());
  EXPECT_TRUE(second.Listen().ok());
}

TEST(ListenSocketsTest, AddressOfAnotherMachineCannotBeListenedOn) {
  EXPECT_EQ(ListenSockets::Bind("192.0.2.1", 0).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(ListenSocketsTest, AddressThatIsNoneIsAnError) {
  EXPECT_EQ(ListenSockets::Bind("no address", 0).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ListenSocketsTest, AddressesAreToldFromNames) {
  EXPECT_TRUE(IsIpAddress("127.0.0.1"));
  EXPECT_TRUE(IsIpAddress("::1"));
  EXPECT_FALSE(IsIpAddress("localhost"));
  EXPECT_FALSE(IsIpAddress(""));
  EXPECT_EQ(HostAndPort("127.0.0.1", 1), "127.0.0.1:1");
  EXPECT_EQ(HostAndPort("::1", 1), "[::1]:1");
}

}  // namespace
}  // namespace ferry
