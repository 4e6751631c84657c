// Tests HttpListener over a socket.
#include "server/http/http_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/net/loopback_client.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One connection to the listener, from 127.0.0.`from`.
class Client {
 public:
  explicit Client(int port, uint8_t from = 1) {
    connection_.ComeFrom(from);
    EXPECT_EQ(connection_.error(), 0);
    connection_.Connect(port);
    EXPECT_EQ(connection_.error(), 0);
  }

  // Nothing where the listener has closed it.
  void Send(const std::string& text) {
    send(connection_.fd(), text.data(), text.size(), MSG_NOSIGNAL);
  }

  // Returns what comes next; nothing where the listener closes it.
  std::string ReadSome() {
    char buffer[4096];
    const ssize_t size = recv(connection_.fd(), buffer, sizeof(buffer), 0);
    return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : "";
  }

  // Returns what comes until the listener closes it, or until `last` has come.
  std::string Read(const std::string& last = "") {
    std::string reply;
    std::string next;
    while ((last.empty() || !reply.ends_with(last)) &&
           !(next = ReadSome()).empty()) {
      reply += next;
    }
    return reply;
  }

 private:
  LoopbackClient connection_;
};

// Sends `text` and returns all that comes back.
std::string Ask(int port, const std::string& text) {
  Client client(port);
  client.Send(text);
  return client.Read();
}

std::string Get(int port, const std::string& method, const std::string& path) {
  return Ask(port, method + " " + path +
                       " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       "Content-Length: 0\r\n\r\n");
}

HttpListener::Routes Routes() {
  return {{"/metrics",
           [](const HttpRequest& request) {
             return HttpReply{.content_type = "a/b",
                              .body = "all" + request.accept + "\n"};
           }},
          {"/down", [](const HttpRequest&) {
             return HttpReply{.code = 503, .body = "no\n"};
           }}};
}

absl::StatusOr<std::unique_ptr<HttpListener>> Listen(
    HttpListener::Routes routes, const HttpBounds& bounds = {},
    HttpListener::MayAnswer others = {}) {
  auto sockets = ListenSockets::Bind("127.0.0.1", 0);
  EXPECT_TRUE(sockets.ok()) << sockets.status();
  return HttpListener::Create(
      *std::move(sockets),
      {.routes = std::move(routes), .others = std::move(others), .refuses = {}},
      bounds);
}

TEST(HttpListenerTest, KnownPathIsAnswered) {
  auto listener = Listen(Routes());
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string reply = Get((*listener)->port(), "GET", "/metrics");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(reply, HasSubstr("Content-Type: a/b"));
  EXPECT_THAT(reply, HasSubstr("\r\n\r\nall\n"));
  EXPECT_THAT(Get((*listener)->port(), "GET", "/metrics?x=1"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get((*listener)->port(), "GET", "/down"),
              StartsWith("HTTP/1.1 503"));
}

TEST(HttpListenerTest, OtherPathsAndMethodsAreRefused) {
  auto listener = Listen(Routes());
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  EXPECT_THAT(Get(port, "GET", "/"), AllOf(StartsWith("HTTP/1.1 404"),
                                           HasSubstr(" or /v2/models/NAME")));
  EXPECT_THAT(Get(port, "GET", "/../metrics"), StartsWith("HTTP/1.1 404"));
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"}) {
    EXPECT_THAT(Get(port, method, "/metrics"), StartsWith("HTTP/1.1 405"))
        << method;
  }
}

TEST(HttpListenerTest, OthersAreAskedForPathsWithoutARoute) {
  const auto others =
      [](const HttpRequest& request) -> std::optional<HttpReply> {
    if (request.path == "/v2/models/m") {
      return HttpReply{.code = 200, .body = "m\n"};
    }
    return std::nullopt;
  };
  auto listener = Listen(Routes(), {}, others);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  EXPECT_THAT(Get(port, "GET", "/v2/models/m"), HasSubstr("\r\n\r\nm\n"));
  EXPECT_THAT(Get(port, "GET", "/metrics"), HasSubstr("\r\n\r\nall\n"));
  EXPECT_THAT(Get(port, "GET", "/v2/models"), StartsWith("HTTP/1.1 404"));
}

TEST(HttpListenerTest, SeveralTokensAreNoneThatIsKnown) {
  auto listener = Listen({{"/token", [](const HttpRequest& request) {
                             return HttpReply{.body = request.authorization};
                           }}});
  ASSERT_TRUE(listener.ok()) << listener.status();
  const auto shown = [&](const std::string& headers) {
    return Ask((*listener)->port(),
               "GET /token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                   headers + "\r\n");
  };
  EXPECT_THAT(shown(""), EndsWith("\r\n\r\n"));
  EXPECT_THAT(shown("authorization: Bearer a\r\n"),
              EndsWith("\r\n\r\nBearer a"));
  EXPECT_THAT(shown("Authorization: Bearer a\r\nX: y\r\n"
                    "authorization: Bearer b\r\n"),
              EndsWith("\r\n\r\nseveral"));
  EXPECT_THAT(shown("authorization: Bearer a\r\nauthorization:\r\n"),
              EndsWith("\r\n\r\nseveral"));
}

TEST(HttpListenerTest, HeadLargerThanItsMemoryIsRefused) {
  auto listener = Listen(Routes());
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string reply = Ask(
      (*listener)->port(), absl::StrCat("GET /metrics HTTP/1.1\r\nHost: ",
                                        std::string(100'000, 'x'), "\r\n\r\n"));
  EXPECT_EQ(reply.find("all\n"), std::string::npos);
}

constexpr char kFirstHalf[] = "GET /metrics HTTP/1.1\r\nHo";
constexpr char kOtherHalf[] = "st: x\r\n\r\n";
// No time ends a connection: what the tests see is not how fast they are.
constexpr HttpBounds kFew = {.open_connections = 4, .idle_seconds = 0};

TEST(HttpListenerTest, ClientsThatSendHalfAHeadKeepNoOtherOut) {
  auto listener = Listen(Routes(), kFew);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  std::deque<Client> slow;
  for (int i = 0; i < 40; ++i) {
    slow.emplace_back(port).Send(kFirstHalf);
  }
  EXPECT_THAT(Get(port, "GET", "/metrics"), StartsWith("HTTP/1.1 200"));
  // The newest are still there; others gave way.
  slow.back().Send(kOtherHalf);
  EXPECT_THAT(slow.back().Read("all\n"), StartsWith("HTTP/1.1 200"));
  for (size_t i = 0; i < 36; ++i) {
    EXPECT_EQ(slow[i].Read(), "") << i;
  }
}

TEST(HttpListenerTest, ManyPeersOfOneConnectionKeepNoNewOneOut) {
  auto listener = Listen(Routes(), kFew);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  std::deque<Client> slow;
  for (uint8_t from = 2; from < 6; ++from) {
    slow.emplace_back(port, from).Send(kFirstHalf);
  }
  EXPECT_THAT(Get(port, "GET", "/metrics"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(slow.front().Read(), "") << "the oldest gave way";
}

TEST(HttpListenerTest, PeerThatOpensManyEndsItsOwnConnections) {
  auto listener = Listen(Routes(), kFew);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  Client probe(port, 2);
  probe.Send(kFirstHalf);
  std::deque<Client> many;
  for (int i = 0; i < 40; ++i) {
    many.emplace_back(port).Send(kFirstHalf);
  }
  EXPECT_EQ(many.front().Read(), "");
  probe.Send(kOtherHalf);
  EXPECT_THAT(probe.Read("all\n"), StartsWith("HTTP/1.1 200"));
}

// A reply of this size exceeds what the system keeps for slow readers.
constexpr size_t kLarge = 16 << 20;  // bytes

HttpListener::Routes LargeRoutes() {
  return {{"/large",
           [](const HttpRequest&) {
             return HttpReply{.body = std::string(kLarge, 'x')};
           }},
          {"/small",
           [](const HttpRequest&) { return HttpReply{.body = "all\n"}; }}};
}

TEST(HttpListenerTest, ClientsThatDoNotReadKeepNoOtherOut) {
  auto listener = Listen(LargeRoutes(), kFew);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  std::deque<Client> deaf;
  for (int i = 0; i < 8; ++i) {
    deaf.emplace_back(port).Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  EXPECT_THAT(Get(port, "GET", "/small"), StartsWith("HTTP/1.1 200"));
}

// The oldest connection asks last, and is served while others come and go.
TEST(HttpListenerTest, ClientThatAskedLastStays) {
  auto listener = Listen(LargeRoutes(), kFew);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  const auto expect_all_were_taken = [&] {  // one after the other
    EXPECT_THAT(Get(port, "GET", "/small"), StartsWith("HTTP/1.1 200"));
  };
  Client oldest(port);
  oldest.Send("GET /large HTTP/1.1\r\nHo");
  std::deque<Client> slow;
  slow.emplace_back(port).Send(kFirstHalf);
  slow.emplace_back(port).Send(kFirstHalf);
  expect_all_were_taken();
  oldest.Send(kOtherHalf);
  std::string reply = oldest.ReadSome();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  slow.emplace_back(port).Send(kFirstHalf);
  slow.emplace_back(port).Send(kFirstHalf);
  expect_all_were_taken();
  EXPECT_EQ(slow[0].Read(), "");
  EXPECT_EQ(slow[1].Read(), "");
  reply += oldest.Read();
  EXPECT_GT(reply.size(), kLarge);
}

TEST(HttpListenerTest, ManyOpenFilesKeepNoClientOut) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 2 * FD_SETSIZE) {
    GTEST_SKIP() << "the process may open " << limit.rlim_max << " files only";
  }
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 2 * FD_SETSIZE);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  auto listener = Listen(Routes());
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::vector<int> open_fds;
  do {
    open_fds.push_back(dup(STDERR_FILENO));
  } while (open_fds.back() >= 0 && open_fds.back() < FD_SETSIZE);
  EXPECT_GE(open_fds.back(), FD_SETSIZE);
  EXPECT_THAT(Get((*listener)->port(), "GET", "/metrics"),
              StartsWith("HTTP/1.1 200"));
  for (const int fd : open_fds) {
    close(fd);
  }
}

}  // namespace
}  // namespace ferry
