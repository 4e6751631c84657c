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
#include <vector>

#include "server/cork.h"

namespace ferry {
namespace {

constexpr int kTries = 20;

// Any port of it.
const sockaddr_in kLoopback = [] {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}();

// Two ends of a connection over loopback.
class Connection {
 public:
  Connection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = kLoopback;
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

  void Send(std::string_view text) const { SendParts({text}); }

  void SendParts(const std::vector<std::string_view>& texts) const {
    std::vector<iovec> parts;
    size_t bytes = 0;
    for (const std::string_view text : texts) {
      parts.push_back({const_cast<char*>(text.data()), text.size()});
      bytes += text.size();
    }
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    EXPECT_EQ(sendmsg(server_, &message, 0), static_cast<ssize_t>(bytes));
  }

  std::string Receive(size_t bytes) const {
    std::string text(bytes, '\0');
    EXPECT_EQ(recv(client_, text.data(), bytes, MSG_WAITALL),
              static_cast<ssize_t>(bytes));
    return text;
  }

  // Segments with data that the server's end has sent.
  int segments() const { return static_cast<int>(info().tcpi_data_segs_out); }

  // Bytes that it has yet to send.
  size_t unsent() const { return info().tcpi_notsent_bytes; }

 private:
  tcp_info info() const {
    tcp_info info = {};
    socklen_t size = sizeof(info);
    EXPECT_EQ(getsockopt(server_, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info;
  }

  int client_ = -1;
  int server_ = -1;
};

// Segments sent during a burst, and at once when it has ended.
struct Segments {
  int during = 0;
  int after = 0;

  bool operator==(const Segments&) const = default;
};

// What is held for more than 0.2 ms goes with the next send, and after 0.2 s by
// itself: a test that is away for so long tries again.
template <typename Try>
Segments UntilIs(Segments wanted, const Try& once) {
  Segments found = once();
  for (int i = 1; i < kTries && !(found == wanted); ++i) {
    found = once();
  }
  return found;
}

TEST(CorkedReplies, ABurstLeavesInOneSegmentAtItsEnd) {
  const Segments found = UntilIs({0, 1}, [] {
    CorkedReplies corked;
    const Connection connection;
    corked.Begin();
    connection.Send("one ");
    connection.Send("two ");
    connection.Send("three");
    const int during = connection.segments();
    corked.End();
    const int after = connection.segments();
    EXPECT_EQ(connection.Receive(13), "one two three");
    EXPECT_EQ(corked.held_count(), 3u);
    return Segments{during, after};
  });
  EXPECT_EQ(found.during, 0);
  EXPECT_EQ(found.after, 1);
}

TEST(CorkedReplies, BurstsWithinBurstsLeaveAtTheEndOfTheOutermost) {
  const Segments found = UntilIs({0, 1}, [] {
    CorkedReplies corked;
    const Connection connection;
    corked.Begin();
    connection.Send("one ");
    corked.Begin();
    connection.Send("two ");
    corked.End();
    connection.Send("three");
    const int during = connection.segments();
    corked.End();
    const int after = connection.segments();
    EXPECT_EQ(connection.Receive(13), "one two three");
    return Segments{during, after};
  });
  EXPECT_EQ(found.during, 0);
  EXPECT_EQ(found.after, 1);
}

TEST(CorkedReplies, EachConnectionHasItsOwnSegment) {
  const Segments found = UntilIs({0, 2}, [] {
    CorkedReplies corked;
    const std::array<Connection, 2> connections;
    const auto segments = [&] {
      return connections[0].segments() + connections[1].segments();
    };
    corked.Begin();
    for (const char* word : {"1", "2", "3"}) {
      for (const Connection& connection : connections) {
        connection.Send(word);
      }
    }
    const int during = segments();
    corked.End();
    const int after = segments();
    for (const Connection& connection : connections) {
      EXPECT_EQ(connection.Receive(3), "123");
    }
    return Segments{during, after};
  });
  EXPECT_EQ(found.during, 0);
  EXPECT_EQ(found.after, 2);
}

TEST(CorkedReplies, LargeOnesLeaveAtOnce) {
  const std::string text(Cork::kMaxBytes, 'x');
  const std::string_view half = std::string_view(text).substr(text.size() / 2);
  using Parts = std::vector<std::string_view>;
  for (const Parts& parts :
       {Parts{text, "!"}, Parts{"!", text}, Parts{half, "!", half}}) {
    CorkedReplies corked;
    const Connection small;
    const Connection large;
    corked.Begin();
    small.Send("one");
    large.SendParts(parts);
    EXPECT_EQ(large.unsent(), 0u);
    EXPECT_EQ(small.unsent(), 0u) << "it does not wait for a large one";
    corked.End();
    EXPECT_EQ(small.Receive(3), "one");
    EXPECT_EQ(large.Receive(text.size() + 1).size(), text.size() + 1);
    EXPECT_EQ(corked.held_count(), 1u);
  }
}

TEST(CorkedReplies, WhatIsHeldForLongLeavesWithTheNextSend) {
  CorkedReplies corked;
  const Connection first;
  const Connection second;
  corked.Begin();
  first.Send("one");
  const TimePoint sent = Clock::Steady().Now();
  while (Clock::Steady().Now() <= sent + Cork::kMaxHold) {
  }
  second.Send("two");
  EXPECT_EQ(first.segments(), 1);
  corked.End();
  EXPECT_EQ(first.Receive(3), "one");
  EXPECT_EQ(second.Receive(3), "two");
  EXPECT_EQ(corked.held_count(), 2u);
}

TEST(CorkedReplies, WhatIsHeldForLongLeavesWithoutASend) {
  CorkedReplies corked;
  const Connection connection;
  corked.Begin();
  connection.Send("one");
  corked.Passed(Clock::Steady().Now() + 2 * Cork::kMaxHold);
  EXPECT_EQ(connection.segments(), 1);
  corked.End();
  EXPECT_EQ(connection.segments(), 1);
  EXPECT_EQ(connection.Receive(3), "one");
}

// Nothing would push it: this would wait for ever.
TEST(CorkedReplies, DatagramsLeaveAtOnce) {
  CorkedReplies corked;
  const int server = socket(AF_INET, SOCK_DGRAM, 0);
  const int client = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address = kLoopback;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(client, where, size), 0);
  ASSERT_EQ(getsockname(client, where, &size), 0);
  std::string text = "one";
  iovec part = {text.data(), text.size()};
  msghdr message = {};
  message.msg_name = where;
  message.msg_namelen = size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  corked.Begin();
  EXPECT_EQ(sendmsg(server, &message, 0), 3);
  corked.End();
  EXPECT_EQ(recv(client, text.data(), text.size(), 0), 3);
  EXPECT_EQ(corked.held_count(), 0u);
  close(client);
  close(server);
}

TEST(CorkedReplies, OthersLeaveAtOnce) {
  CorkedReplies corked;
  const Connection connection;
  corked.Begin();
  corked.End();
  int count = 0;
  for (const char* word : {"one", "two", "six"}) {
    connection.Send(word);
    EXPECT_EQ(connection.segments(), ++count);
    EXPECT_EQ(connection.Receive(3), word);
  }
  EXPECT_EQ(corked.held_count(), 0u);
}

}  // namespace
}  // namespace ferry
