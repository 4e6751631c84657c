// Tests which headers and files are taken, and which are not.
#include "bench/client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// Signed by itself, of models.example.
constexpr char kCertificate[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBiDCCAS+gAwIBAgIUTEUvrM3fBSOPSP6be8SCA7YmUCEwCgYIKoZIzj0EAwIw\n"
    "GTEXMBUGA1UEAwwObW9kZWxzLmV4YW1wbGUwIBcNMjYxMTIzMTYyNDU5WhgPMjEy\n"
    "NjEwMzAxNjI0NTlaMBkxFzAVBgNVBAMMDm1vZGVscy5leGFtcGxlMFkwEwYHKoZI\n"
    "zj0CAQYIKoZIzj0DAQcDQgAENsZHO7UEZKaLNaBa5FJ1Ah0rAz2sXhBQtduujCBr\n"
    "W0YxOFASgoG5e10CrSCL8FDiH1RqQ3Kp++tw6f6S/CHZfKNTMFEwHQYDVR0OBBYE\n"
    "FD4lmAOdxbsBZeWZz1yuT7e0Y21eMB8GA1UdIwQYMBaAFD4lmAOdxbsBZeWZz1yu\n"
    "T7e0Y21eMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgcYPgl2Ds\n"
    "DXtCAXUNV4FLkE2LWdCDQv33Gz+XvJQHr78CIHc1Ta9jvbW+H7mW3hxKYcSwpoXN\n"
    "9ZgVqyPNxCT6+gPL\n"
    "-----END CERTIFICATE-----\n";

std::string FileOf(const std::string& text,
                   const std::string& name = "connection_test.pem") {
  const std::string path = ::testing::TempDir() + name;
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
  const std::string text = absl::StrCat(kCertificate, kCertificate);
  const auto connection =
      ReadConnection({.authority = "h", .tls = true, .tls_ca = FileOf(text)});
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(connection->root_certificates, text);
  EXPECT_EQ(connection->authority, "h");
  EXPECT_TRUE(connection->tls);
}

TEST(ConnectionTest, RefusesFilesWithoutCertificates) {
  const auto key = ReadConnection(
      {.tls = true,
       .tls_ca = FileOf(
           "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")});
  EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(key.status().message(), HasSubstr("found none in"));
  const auto empty = ReadConnection({.tls = true, .tls_ca = FileOf("")});
  EXPECT_THAT(empty.status().message(), HasSubstr("found none in"));
  const auto broken = ReadConnection(
      {.tls = true,
       .tls_ca = FileOf(absl::StrCat(kCertificate,
                                     "-----BEGIN CERTIFICATE-----\nMII\n"
                                     "-----END CERTIFICATE-----\n"))});
  EXPECT_THAT(broken.status().message(),
              HasSubstr("found one that cannot be read, after 1 others, in"));
  for (const std::string& path :
       {::testing::TempDir() + "no_such_file", ::testing::TempDir()}) {
    const auto missing = ReadConnection({.tls = true, .tls_ca = path});
    EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound) << path;
    EXPECT_THAT(missing.status().message(), HasSubstr(path));
  }
}

// Returns a key of its own, in PEM.
std::string NewKey() {
  EVP_PKEY* const key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::string text(BIO_pending(bio), '\0');
  BIO_read(bio, text.data(), static_cast<int>(text.size()));
  BIO_free(bio);
  EVP_PKEY_free(key);
  return text;
}

TEST(ConnectionTest, RefusesKeysThatDoNotFit) {
  const std::string certificate = FileOf(kCertificate);
  for (const auto& [text, found] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "none"}, {kCertificate, "none"}, {NewKey(), "another"}}) {
    const std::string key = FileOf(text, "connection_test.key");
    const auto connection =
        ReadConnection({.tls = true, .tls_cert = certificate, .tls_key = key});
    EXPECT_EQ(
        connection.status(),
        absl::InvalidArgumentError(absl::StrCat(
            "--tls-key: expected the key of '", certificate,
            "' in PEM without a password, found ", found, " in '", key, "'")));
  }
  EXPECT_THAT(
      ReadConnection({.tls = true, .tls_cert = FileOf("")}).status().message(),
      HasSubstr("--tls-cert: expected a file of certificates"));
  EXPECT_THAT(ReadConnection({.tls = true, .tls_cert = FileOf(kCertificate)})
                  .status()
                  .message(),
              HasSubstr("--tls-key: cannot read"));
}

TEST(ConnectionTest, WithoutValueKeepsTheName) {
  EXPECT_EQ(WithoutValue("a:b:c"), "a:...");
  EXPECT_EQ(WithoutValue("secret"), "...");
}

}  // namespace
}  // namespace ferry::bench
