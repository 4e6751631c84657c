// Tests which token files are taken, and that errors name the line and no
// secret.
#include "server/auth/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// sha256sum has these of "alpha" and "beta".
constexpr char kAlpha[] =
    "sha256:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8";
constexpr char kBeta[] =
    "sha256:f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753";

std::string Line(const std::string& name, const std::string& scopes,
                 const std::string& digest) {
  std::string line = name;
  line += ' ';
  line += scopes;
  line += ' ';
  line += digest;
  line += '\n';
  return line;
}

absl::StatusOr<TokenFile> Parse(const std::string& text) {
  return TokenFile::Parse(text, "tokens");
}

TEST(TokenFile, TokensAreFoundByTheirDigest) {
  const auto file = Parse("# who may ask\n\n" + Line("web", "infer", kAlpha) +
                          Line("ops\t", "read,admin", kBeta));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 2U);
  const Identity* const web = file->FindToken("alpha");
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(web->name, "web");
  EXPECT_TRUE(web->scopes.test(static_cast<size_t>(Scope::kInfer)));
  EXPECT_FALSE(web->scopes.test(static_cast<size_t>(Scope::kAdmin)));
  const Identity* const ops = file->FindToken("beta");
  ASSERT_NE(ops, nullptr);
  EXPECT_EQ(ops->name, "ops");
  EXPECT_TRUE(ops->scopes.test(static_cast<size_t>(Scope::kRead)));
  EXPECT_TRUE(ops->scopes.test(static_cast<size_t>(Scope::kAdmin)));
  EXPECT_FALSE(ops->scopes.test(static_cast<size_t>(Scope::kInfer)));
  EXPECT_EQ(file->FindToken(""), nullptr);
  EXPECT_EQ(file->FindToken("alph"), nullptr);
  EXPECT_EQ(file->FindToken("alpha "), nullptr);
}

TEST(TokenFile, CertificatesAreFoundByAName) {
  const auto file = Parse(Line("web", "infer", kAlpha) +
                          Line("cam", "infer", "cert:cam.example"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->has_certificates());
  const absl::string_view names[] = {"x", "cam.example"};
  const Identity* const cam = file->FindCertificate(names);
  ASSERT_NE(cam, nullptr);
  EXPECT_EQ(cam->name, "cam");
  EXPECT_EQ(file->FindCertificate({"x", ""}), nullptr);
  EXPECT_EQ(file->FindCertificate({}), nullptr);
  const auto tokens = Parse(Line("web", "infer", kAlpha));
  EXPECT_FALSE(tokens->has_certificates());
  EXPECT_EQ(tokens->FindCertificate({"", "web"}), nullptr);
}

void ExpectRefused(const std::string& text, const std::string& said) {
  const auto file = Parse(text);
  ASSERT_FALSE(file.ok()) << text;
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()), StartsWith("tokens:"));
  EXPECT_THAT(std::string(file.status().message()), HasSubstr(said));
  EXPECT_THAT(std::string(file.status().message()), Not(HasSubstr("8ed3f6")));
  EXPECT_THAT(std::string(file.status().message()), Not(HasSubstr("secret")));
}

TEST(TokenFile, WhatIsWrongIsToldByItsLine) {
  const std::string good = Line("web", "infer", kAlpha);
  ExpectRefused("", "tokens: expected a line NAME SCOPES sha256:DIGEST");
  ExpectRefused("# nothing\n", "got none");
  ExpectRefused("secret\n",
                "tokens:1: expected NAME SCOPES sha256:DIGEST or cert:NAME, "
                "got 1 words");
  ExpectRefused(good + Line("web", "read", kBeta),
                "tokens:2: expected each name, token and certificate once, got "
                "that of 'web'");
  ExpectRefused(good + Line("other", "read", kAlpha),
                "tokens:2: expected each");
  ExpectRefused(Line("web", "infer,secret", kAlpha),
                "tokens:1: expected scopes of infer, read and admin");
  ExpectRefused(Line("web", "", kAlpha), "got 2 words");
  ExpectRefused(Line("we/b", "infer", kAlpha), "tokens:1: expected a name");
  ExpectRefused(Line("web", "infer", "secret"), "expected sha256:");
  ExpectRefused(Line("web", "infer", "cert:"), "expected sha256:");
  ExpectRefused(  // as of a file that is not there
      Line("web", "infer",
           "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852"
           "b855"),
      "tokens:1: expected the digest of a token, got that of an empty text");
  ExpectRefused(Line("a", "infer", "cert:x") + Line("b", "infer", "cert:x"),
                "tokens:2: expected each");
  ExpectRefused(Line("web", "infer", std::string(kAlpha).substr(0, 70)),
                "64 hexadecimal digits");
  ExpectRefused(Line("web", "infer", std::string(kAlpha) + "0"),
                "64 hexadecimal digits");
}

}  // namespace
}  // namespace ferry
