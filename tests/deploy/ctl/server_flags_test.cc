// Tests the files that reach a server, and what is said of calls that failed.
#include "deploy/ctl/server_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "deploy/ctl/page_client.h"

namespace ferry::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string TokenFile(const std::string& text) {
  const std::string path = ::testing::TempDir() + "server_flags_test.token";
  std::ofstream(path) << text;
  return path;
}

TEST(ReadConnectionTest, TokenOfTheFileIsAHeader) {
  const auto connection =
      ReadConnection({.token_file = TokenFile("5ca1ab1e\n")});
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_THAT(connection->headers,
              ElementsAre(Pair("authorization", "Bearer 5ca1ab1e")));
  EXPECT_FALSE(connection->tls);
}

TEST(ReadConnectionTest, FilesWithoutOneTokenAreRefused) {
  for (const auto& [text, found] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "none"},
           {" \n", "none"},
           {"two words", "others"},
           {"\xc3\xbc", "others"},
           {"one\ntwo\n", "others"}}) {
    const auto connection = ReadConnection({.token_file = TokenFile(text)});
    EXPECT_EQ(connection.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(connection.status().message(),
              "--token-file: expected one token of printable ASCII characters, "
              "found " +
                  found + " in '" + TokenFile(text) + "'");
  }
  const auto missing = ReadConnection({.token_file = "/nowhere/token"});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("--token-file: cannot read /nowhere/token"));
}

TEST(OfCallTest, SaysWhereAndWhatToDo) {
  const ServerFlags flags = {.addresses = {"a:1"}};
  EXPECT_EQ(OfCall(absl::UnavailableError("refused"), flags),
            absl::UnavailableError(
                "a:1: expected an answer of the server's gRPC port within 5 s, "
                "got 'refused'; one with TLS needs --tls-ca"));
  EXPECT_EQ(
      OfCall(absl::UnauthenticatedError("none"), flags),
      absl::UnauthenticatedError("a:1: none; --token-file gives a token"));
  EXPECT_EQ(OfCall(absl::UnimplementedError("without it"), flags),
            absl::FailedPreconditionError("a:1: without it"));
  EXPECT_EQ(OfCall(absl::InvalidArgumentError("65"), flags),
            absl::InvalidArgumentError("a:1: 65"));
}

TEST(PageClientTest, AddressesOfNoMetricsPortAreRefused) {
  for (const char* address :
       {"", "host", ":8002", "host:", "host:0", "host:65536", "host:http",
        "unix:/run/ferry.sock", "unix:8002"}) {
    const auto client = PageClient::Create({});
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_EQ(client->Get(address, "/metrics").status(),
              absl::InvalidArgumentError(
                  std::string("--address: expected host:port of the server's "
                              "metrics port, got '") +
                  address + "'"));
  }
}

TEST(PageClientTest, AnotherNameNeedsAnIpAddress) {
  const auto client =
      PageClient::Create({.connection = {.authority = "ferry.example"}});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->Get("localhost:8002", "/metrics").status(),
            absl::InvalidArgumentError(
                "--address: expected an IP address beside --authority, got "
                "'localhost'"));
}

}  // namespace
}  // namespace ferry::ctl
