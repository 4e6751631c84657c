// Tests the bounds of FrameFence on connections of loopback. What it counts of
// frames, tests/e2e/flood_test.py tests with gRPC.
#include "server/net/frame_fence.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "server/net/listen_sockets.h"
#include "tests/server/net/loopback_client.h"

namespace ferry {
namespace {

// Connections between clients and a server of this process.
class FrameFenceTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* address : {"127.0.0.1", "::1"}) {
      auto sockets = ListenSockets::Bind(address, 0);
      ASSERT_TRUE(sockets.ok()) << sockets.status();
      ASSERT_TRUE(sockets->Listen().ok());
      listening_.push_back(*std::move(sockets));
    }
  }

  void TearDown() override {
    for (const int fd : fds_) {
      End(fd);
    }
  }

  // Returns the server's side of one more connection.
  int Connect(int family = AF_INET) {
    const ListenSockets& sockets = listening_[family == AF_INET ? 0 : 1];
    clients_.emplace_back(sockets.port(), family);
    int fd = -1;
    while (fd < 0) {  // the socket does not block
      fd = accept(sockets.fds().front(), nullptr, nullptr);
    }
    return fd;
  }

  // Whether one more connection is taken.
  bool Take(const std::string& peer, const ConnectionBounds& bounds,
            Frames frames = Frames::kPlain) {
    const int fd = Connect();
    if (!FenceConnection(fd, peer, frames, bounds)) {
      close(fd);
      return false;
    }
    fds_.push_back(fd);
    return true;
  }

  // Ends the oldest as gRPC does.
  void EndOne() {
    End(fds_.front());
    fds_.pop_front();
  }

 private:
  static void End(int fd) {
    shutdown(fd, SHUT_RDWR);
    shutdown(fd, SHUT_RDWR);  // a second time is nothing
    close(fd);
  }

  std::vector<ListenSockets> listening_;
  std::deque<LoopbackClient> clients_;
  std::deque<int> fds_;
};

TEST_F(FrameFenceTest, PeerHasNoMoreThanItsBound) {
  const ConnectionBounds bounds{.all = 0, .of_peer = 2};
  EXPECT_TRUE(Take("one", bounds));
  EXPECT_TRUE(Take("one", bounds, Frames::kInTls));
  EXPECT_FALSE(Take("one", bounds));
  EXPECT_TRUE(Take("two", bounds));
  EndOne();
  EXPECT_TRUE(Take("one", bounds));
  EXPECT_FALSE(Take("one", bounds));
}

TEST_F(FrameFenceTest, PeersOfAUnixSocketHaveNoBoundButThatOfAll) {
  EXPECT_TRUE(Take("", {.all = 2, .of_peer = 1}));
  EXPECT_TRUE(Take("", {.all = 2, .of_peer = 1}));
  EXPECT_FALSE(Take("", {.all = 2, .of_peer = 1}));
}

TEST_F(FrameFenceTest, AllTogetherHaveNoMoreThanTheirBound) {
  const ConnectionBounds bounds{.all = 2, .of_peer = 0};
  EXPECT_TRUE(Take("one", bounds));
  EXPECT_TRUE(Take("two", bounds));
  EXPECT_FALSE(Take("three", bounds));
  EndOne();
  EXPECT_TRUE(Take("three", bounds));
}

TEST_F(FrameFenceTest, ConnectionWithoutBoundsTakesNothingFromThoseWithSome) {
  const ConnectionBounds bounds{.all = 1, .of_peer = 0};
  EXPECT_TRUE(Take("one", {}));
  EXPECT_TRUE(Take("two", bounds));
  EXPECT_TRUE(Take("one", {}));
  EXPECT_FALSE(Take("three", bounds));
}

TEST_F(FrameFenceTest, DescriptorThatComesAgainCountsOnce) {
  const ConnectionBounds bounds{.all = 1, .of_peer = 0};
  const int fd = Connect();
  ASSERT_TRUE(FenceConnection(fd, "one", Frames::kPlain, bounds));
  const int other = Connect();
  ASSERT_EQ(dup2(other, fd), fd);  // which closes it, without a shutdown()
  close(other);
  EXPECT_TRUE(FenceConnection(fd, "two", Frames::kPlain, bounds));
  shutdown(fd, SHUT_RDWR);
  close(fd);
}

}  // namespace
}  // namespace ferry
