// Tests how flags reach a server, and what is said of calls that failed.
#include "deploy/ctl/server_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace ferry::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;

std::string TokenFile(const std::string& text) {
  const std::string path = ::testing::TempDir() + "server_flags_test.token";
  std::ofstream(path) << text;
  return path;
}

TEST(ReadConnectionTest, TokenOfTheFileIsAHeader) {
  const auto connection =
      ReadConnection({.addresses = {"127.0.0.1:8001"},
                      .http = {.token = TokenFile("5ca1ab1e\n")}});
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_THAT(connection->headers,
              ElementsAre(Pair("authorization", "Bearer 5ca1ab1e")));
  EXPECT_FALSE(connection->tls);
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

TEST(ReadSourcesTest, EachAddressIsOfThatNameWithThatToken) {
  ServerFlags flags = {.addresses = {"127.0.0.1:8002", "https://[::1]:8443/a"},
                       .http = {.token = TokenFile("5ca1ab1e\n")},
                       .connection = {.authority = "ferry.example"}};
  const auto sources = ReadSources(flags);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_THAT(*sources,
              ElementsAre(Field(&HttpSource::address, "127.0.0.1:8002"),
                          Field(&HttpSource::address, "https://[::1]:8443/a")));
  for (const HttpSource& source : *sources) {
    EXPECT_EQ(source.token, "5ca1ab1e");
    EXPECT_EQ(source.authority, "ferry.example");
  }
  flags.addresses = {"localhost:8002"};
  EXPECT_EQ(ReadSources(flags).status(),
            absl::InvalidArgumentError(
                "--address: expected an IP address beside --authority, got "
                "'localhost'"));
}

}  // namespace
}  // namespace ferry::ctl
