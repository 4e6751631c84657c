// The listener, asked over a socket.
#include "server/http_listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Sends `text` and returns all that comes back.
std::string Ask(int port, const std::string& text) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::string reply;
  if (connect(socket_fd, reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) == 0 &&
      send(socket_fd, text.data(), text.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    ssize_t size = 0;
    while ((size = recv(socket_fd, buffer, sizeof(buffer), 0)) > 0) {
      reply.append(buffer, static_cast<size_t>(size));
    }
  }
  close(socket_fd);
  return reply;
}

std::string Get(int port, const std::string& method, const std::string& path) {
  return Ask(port, method + " " + path +
                       " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       "Content-Length: 0\r\n\r\n");
}

HttpListener::Routes Routes() {
  return {{"/metrics",
           [] { return HttpReply{.content_type = "a/b", .body = "all\n"}; }},
          {"/down", [] { return HttpReply{.code = 503, .body = "no\n"}; }}};
}

TEST(HttpListenerTest, KnownPathIsAnswered) {
  auto listener = HttpListener::Create("127.0.0.1", 0, Routes());
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
  auto listener = HttpListener::Create("127.0.0.1", 0, Routes());
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int port = (*listener)->port();
  EXPECT_THAT(Get(port, "GET", "/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get(port, "GET", "/../metrics"), StartsWith("HTTP/1.1 404"));
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"}) {
    EXPECT_THAT(Get(port, method, "/metrics"), StartsWith("HTTP/1.1 405"))
        << method;
  }
}

TEST(HttpListenerTest, HeadLargerThanItsMemoryIsRefused) {
  auto listener = HttpListener::Create("127.0.0.1", 0, Routes());
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string reply =
      Ask((*listener)->port(), "GET /metrics HTTP/1.1\r\nHost: " +
                                   std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(reply.find("all\n"), std::string::npos);
}

TEST(HttpListenerTest, BusyPortIsAnError) {
  auto first = HttpListener::Create("127.0.0.1", 0, Routes());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second =
      HttpListener::Create("127.0.0.1", (*first)->port(), Routes());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status().ToString(), HasSubstr("cannot listen on"));
}

TEST(HttpListenerTest, AddressThatIsNoneIsAnError) {
  EXPECT_EQ(HttpListener::Create("localhost", 0, Routes()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ferry
