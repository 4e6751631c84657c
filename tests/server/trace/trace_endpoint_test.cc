// Tests which endpoints of collectors are taken.
#include "server/trace/trace_endpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

TEST(TraceEndpoint, HostAndPortAreRead) {
  for (const auto& [text, host, port] :
       {std::tuple("http://127.0.0.1:4318", "127.0.0.1", 4318),
        std::tuple("http://collector:80/", "collector", 80),
        std::tuple("http://[::1]:65535", "::1", 65535)}) {
    const absl::StatusOr<TraceEndpoint> endpoint = ParseTraceEndpoint(text);
    ASSERT_TRUE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint->text, text);
    EXPECT_EQ(endpoint->host, host);
    EXPECT_EQ(endpoint->port, port);
  }
}

TEST(TraceEndpoint, OthersAreRefused) {
  for (const char* wrong :
       {"", "collector:4318", "ftp://a:1", "http://a", "http://:4318",
        "http://a:4318/v1/traces", "http://::1:4318", "http://[a]:1",
        "http://[::1:1", "http://a:0", "http://a:65536", "http://a:99999999999",
        "http://a:x"}) {
    EXPECT_EQ(
        ParseTraceEndpoint(wrong).status(),
        absl::InvalidArgumentError(absl::StrCat(
            "--otlp-endpoint: expected http://HOST:PORT, got '", wrong, "'")));
  }
}

}  // namespace
}  // namespace ferry
