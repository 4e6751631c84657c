// Headers and files that are taken, and those that are not.
#include "bench/client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string FileOf(const std::string& text) {
  const std::string path = ::testing::TempDir() + "connection_test.pem";
  std::ofstream(path) << text;
  return path;
}

TEST(ConnectionTest, HeadersAreInLowerCaseWithoutTheSpaceBeforeTheirValue) {
  const auto connection = ReadConnection(
      {.headers = {"X-Tenant: a:b ", "empty:", "trace-bin:\x01\x02"}});
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_THAT(connection->headers,
              ElementsAre(Pair("x-tenant", "a:b "), Pair("empty", ""),
                          Pair("trace-bin", "\x01\x02")));
  EXPECT_FALSE(connection->tls);
}

TEST(ConnectionTest, RefusesHeadersThatGrpcCannotSend) {
  for (const char* header :
       {"", "name", ":v", "a b:v", "grpc-timeout:1S", "Content-Type:text",
        "host:h", "te:trailers", "name:\xc3\xbc", "name:a\nb"}) {
    EXPECT_EQ(ReadConnection({.headers = {header}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << header;
  }
  EXPECT_THAT(ReadConnection({.headers = {"a b:secret"}}).status().message(),
              Not(HasSubstr("secret")));
}

TEST(ConnectionTest, CertificatesAreThoseOfTheFile) {
  const std::string text = "-----BEGIN CERTIFICATE-----\nMII\n";
  const auto connection =
      ReadConnection({.authority = "h", .tls = true, .tls_ca = FileOf(text)});
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(connection->root_certificates, text);
  EXPECT_EQ(connection->authority, "h");
  EXPECT_TRUE(connection->tls);
}

TEST(ConnectionTest, RefusesFilesWithoutCertificates) {
  const auto key = ReadConnection(
      {.tls = true, .tls_ca = FileOf("-----BEGIN PRIVATE KEY-----\n")});
  EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(key.status().message(), HasSubstr("found none in"));
  const auto empty = ReadConnection({.tls = true, .tls_ca = FileOf("")});
  EXPECT_THAT(empty.status().message(), HasSubstr("found none in"));
  for (const std::string& path :
       {::testing::TempDir() + "no_such_file", ::testing::TempDir()}) {
    const auto missing = ReadConnection({.tls = true, .tls_ca = path});
    EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound) << path;
    EXPECT_THAT(missing.status().message(), HasSubstr(path));
  }
}

TEST(ConnectionTest, WithoutValueKeepsTheName) {
  EXPECT_EQ(WithoutValue("a:b:c"), "a:...");
  EXPECT_EQ(WithoutValue("secret"), "...");
}

}  // namespace
}  // namespace ferry::bench
