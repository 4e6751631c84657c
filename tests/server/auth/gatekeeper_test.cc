// Tests what a server that other machines reach needs, and that tokens which
// are wrong leave those in force.
#include "server/auth/gatekeeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kAlpha[] =
    "web infer "
    "sha256:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8\n";
constexpr char kBeta[] =
    "web infer "
    "sha256:f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753\n";

class GatekeeperTest : public testing::Test {
 protected:
  ~GatekeeperTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& text) const {
    std::ofstream(path_, std::ios::trunc) << text;
  }

  std::string Refusal(const TrustOptions& options,
                      const ExposedAddress& exposed) const {
    return std::string(
        Gatekeeper::Open(options, {exposed}, now_).status().message());
  }

  TrustOptions WithTokens() const {
    TrustOptions options;
    options.token_file = path_;
    return options;
  }

  static bool Knows(const Gatekeeper& keeper, absl::string_view shown) {
    return keeper.authorizer()
        .Authorize(MethodSet::kAll, Scope::kInfer,
                   {.authorization = shown, .certificate_names = {}})
        .ok();
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'790'000'000);
  const std::string path_ =
      testing::TempDir() + "gatekeeper_test." + std::to_string(getpid());
};

TEST_F(GatekeeperTest, WhatIsExposedNeedsTlsAndKnownClients) {
  const ExposedAddress grpc = {.flag = "--grpc-address=0.0.0.0"};
  const ExposedAddress http = {.flag = "--metrics-address=::",
                               .asks_certificates = false};
  TrustOptions options;
  EXPECT_THAT(Refusal(options, grpc),
              StartsWith("--grpc-address=0.0.0.0: expected TLS"));
  options.token_file = path_;
  EXPECT_THAT(Refusal(options, http),
              StartsWith("--metrics-address=::: expected TLS"));
  options = TrustOptions();
  options.tls = {.certificate = "c", .key = "k", .client_ca = ""};
  EXPECT_THAT(Refusal(options, grpc),
              HasSubstr("expected --auth-token-file or --tls-client-ca where"));
  options.tls.client_ca = "a";
  EXPECT_THAT(Refusal(options, http), HasSubstr("expected --auth-token-file "
                                                "where"));
  EXPECT_THAT(Refusal(options, grpc), HasSubstr("cannot read 'k'"))
      << "what is exposed has what it needs";
  EXPECT_TRUE(Gatekeeper::Open({}, {}, now_).ok());
  options = TrustOptions();
  options.exposure = Exposure::kInsecure;
  EXPECT_TRUE(Gatekeeper::Open(options, {grpc, http}, now_).ok());
}

TEST_F(GatekeeperTest, TokensAreReadAgainAndWrongOnesAreNotTaken) {
  Write(kAlpha);
  const auto opened = Gatekeeper::Open(WithTokens(), {}, now_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  Gatekeeper& keeper = **opened;
  EXPECT_TRUE(Knows(keeper, "Bearer alpha"));
  EXPECT_FALSE(keeper.counts().expiry.has_value());
  Write("broken");
  for (int i = 0; i < 3; ++i) {
    keeper.Look(now_);
  }
  EXPECT_TRUE(Knows(keeper, "Bearer alpha"));
  EXPECT_EQ(keeper.counts().failures, 1U) << "told once";
  EXPECT_TRUE(keeper.counts().is_stale);
  std::filesystem::remove(path_);
  for (int i = 0; i < 3; ++i) {
    keeper.Look(now_);
  }
  EXPECT_TRUE(Knows(keeper, "Bearer alpha"));
  EXPECT_EQ(keeper.counts().failures, 2U);
  Write(kBeta);
  keeper.Look(now_);
  EXPECT_TRUE(Knows(keeper, "Bearer alpha")) << "it may be half written";
  keeper.Look(now_);
  EXPECT_FALSE(Knows(keeper, "Bearer alpha"));
  EXPECT_TRUE(Knows(keeper, "Bearer beta"));
  EXPECT_EQ(keeper.counts().reloads, 1U);
  EXPECT_FALSE(keeper.counts().is_stale);
  keeper.SetHttpIsStale(true);
  EXPECT_TRUE(keeper.counts().is_stale);
}

TEST_F(GatekeeperTest, LinesOfCertificatesNeedAnAuthority) {
  Write("cam infer cert:cam.example\n");
  EXPECT_THAT(
      std::string(Gatekeeper::Open(WithTokens(), {}, now_).status().message()),
      HasSubstr("expected --tls-client-ca beside a line with cert:"));
}

}  // namespace
}  // namespace ferry
