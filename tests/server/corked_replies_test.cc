// What the sockets of this process hold back, and for how long.
#include "server/corked_replies.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace ferry {
namespace {

constexpr int kTries = 20;

// Two ends of a connection over loopback.
class Connection {
 public:
  Connection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener, where, size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, where, &size), 0);
    client_ = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client_, where, size), 0);
    server_ = accept(listener, nullptr, nullptr);
    const int on = 1;  // as gRPC does
    EXPECT_EQ(setsockopt(server_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)),
              0);
    close(listener);
  }
  ~Connection() {
    close(client_);
    close(server_);
  }

  void Send(std::string_view text) const {
    iovec part = {const_cast<char*>(text.data()), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    EXPECT_EQ(sendmsg(server_, &message, 0), static_cast<ssize_t>(text.size()));
  }

  std::string Receive(size_t bytes) const {
    std::string text(bytes, '\0');
    EXPECT_EQ(recv(client_, text.data(), bytes, MSG_WAITALL),
              static_cast<ssize_t>(bytes));
    return text;
  }

  // Segments with data that the server's end has sent.
  int segments() const {
    tcp_info info = {};
    socklen_t size = sizeof(info);
    EXPECT_EQ(getsockopt(server_, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return static_cast<int>(info.tcpi_data_segs_out);
  }

 private:
  int client_ = -1;
  int server_ = -1;
};

TEST(CorkedReplies, ABurstLeavesInOneSegment) {
  CorkedReplies corked;
  int segments = 0;
  // The kernel holds for 0.2 s at most: a test that is away for so long tries
  // again.
  for (int i = 0; i < kTries && segments != 1; ++i) {
    const Connection connection;
    corked.Begin();
    connection.Send("one ");
    connection.Send("two ");
    connection.Send("three");
    corked.End();
    EXPECT_EQ(connection.Receive(13), "one two three");
    segments = connection.segments();
    EXPECT_EQ(corked.held_count(), static_cast<uint64_t>(3 * (i + 1)));
  }
  EXPECT_EQ(segments, 1);
}

TEST(CorkedReplies, OthersLeaveAtOnce) {
  CorkedReplies corked;
  const Connection connection;
  corked.Begin();
  corked.End();
  for (const char* word : {"one", "two", "six"}) {
    connection.Send(word);
    EXPECT_EQ(connection.Receive(3), word);
  }
  EXPECT_EQ(connection.segments(), 3);
  EXPECT_EQ(corked.held_count(), 0u);
}

TEST(CorkedReplies, EachConnectionOfABurstGetsItsOwn) {
  CorkedReplies corked;
  const std::array<Connection, 2> connections;
  corked.Begin();
  for (const char* word : {"1", "2", "3"}) {
    for (const Connection& connection : connections) {
      connection.Send(word);
    }
  }
  corked.End();
  for (const Connection& connection : connections) {
    EXPECT_EQ(connection.Receive(3), "123");
  }
}

}  // namespace
}  // namespace ferry
