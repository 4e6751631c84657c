// Tests which token may do what, and that an unknown one is told as none is.
#include "server/auth/authorizer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace ferry {
namespace {

constexpr char kTokens[] =
    "web infer "
    "sha256:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8\n"
    "ops read,admin "
    "sha256:f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753\n";

Presented Shows(absl::string_view authorization) {
  return {.authorization = authorization, .certificate_names = {}};
}

TokenFile Tokens(const char* text = kTokens) {
  auto file = TokenFile::Parse(text, "tokens");
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

TEST(Authorizer, TokenMayDoWhatItsScopesSay) {
  const Authorizer authorizer(Tokens(), HealthAccess::kWithToken);
  EXPECT_TRUE(
      authorizer
          .Authorize(MethodSet::kAll, Scope::kInfer, Shows("Bearer alpha"))
          .ok());
  EXPECT_TRUE(
      authorizer
          .Authorize(MethodSet::kAll, Scope::kInfer, Shows("bearer alpha"))
          .ok());
  EXPECT_TRUE(
      authorizer.Authorize(MethodSet::kAll, Scope::kAdmin, Shows("Bearer beta"))
          .ok());
  EXPECT_TRUE(
      authorizer
          .Authorize(MethodSet::kAll, Scope::kHealth, Shows("Bearer beta"))
          .ok());
  const absl::Status lacks = authorizer.Authorize(
      MethodSet::kAll, Scope::kAdmin, Shows("Bearer alpha"));
  EXPECT_EQ(lacks, absl::PermissionDeniedError(
                       "expected a client with the scope admin, got 'web', "
                       "which lacks it"));
  EXPECT_EQ(
      authorizer.Authorize(MethodSet::kAll, std::nullopt, Shows("Bearer beta"))
          .code(),
      absl::StatusCode::kPermissionDenied);
}

TEST(Authorizer, ClientHasTheNameOfItsLine) {
  const Authorizer authorizer(Tokens(), HealthAccess::kWithToken);
  EXPECT_EQ(authorizer.NameOfClient(Shows("Bearer alpha")), "web");
  EXPECT_EQ(authorizer.NameOfClient(Shows("Bearer beta")), "ops");
  EXPECT_EQ(authorizer.NameOfClient(Shows("Bearer gamma")), "");
  EXPECT_EQ(authorizer.NameOfClient(Shows("")), "");
  EXPECT_EQ(authorizer.counts().unauthenticated, 0U);
  const Authorizer open(std::nullopt, HealthAccess::kWithToken);
  EXPECT_EQ(open.NameOfClient(Shows("Bearer alpha")), "");
}

TEST(Authorizer, NoTokenAndAWrongOneAreToldInTheSameWords) {
  const Authorizer authorizer(Tokens(), HealthAccess::kWithToken);
  const absl::Status none =
      authorizer.Authorize(MethodSet::kAll, Scope::kInfer, Shows(""));
  EXPECT_EQ(none.code(), absl::StatusCode::kUnauthenticated);
  for (const char* wrong : {"Bearer gamma", "alpha", "Basic alpha", "Bearer ",
                            "Bearer  alpha", "Bearer alpha "}) {
    EXPECT_EQ(
        authorizer.Authorize(MethodSet::kAll, Scope::kInfer, Shows(wrong)),
        none)
        << wrong;
  }
  EXPECT_EQ(authorizer.Authorize(MethodSet::kAll, std::nullopt, Shows("")),
            none);
  EXPECT_EQ(authorizer.Authorize(MethodSet::kAll, Scope::kHealth, Shows("")),
            none);
}

TEST(Authorizer, CertificateCountsWhereNoTokenIsShown) {
  const Authorizer authorizer(Tokens("cam infer cert:cam.example\n"),
                              HealthAccess::kWithToken);
  const absl::string_view names[] = {"other", "cam.example"};
  const auto code = [&](absl::string_view authorization,
                        absl::Span<const absl::string_view> shown) {
    return authorizer
        .Authorize(MethodSet::kAll, Scope::kInfer,
                   {.authorization = authorization, .certificate_names = shown})
        .code();
  };
  EXPECT_EQ(code("", names), absl::StatusCode::kOk);
  EXPECT_EQ(code("", absl::MakeSpan(names).first(1)),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(code("Bearer wrong", names), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(code("", {}), absl::StatusCode::kUnauthenticated);
}

TEST(Authorizer, PortWithoutAdminServesItToNone) {
  const Authorizer open(std::nullopt, HealthAccess::kWithToken);
  const Authorizer closed(Tokens(), HealthAccess::kWithToken);
  const auto code = [](const Authorizer& authorizer, MethodSet methods,
                       Scope scope, absl::string_view shown) {
    return authorizer.Authorize(methods, scope, Shows(shown)).code();
  };
  const auto denied = absl::StatusCode::kPermissionDenied;
  const MethodSet methods = MethodSet::kWithoutAdmin;
  EXPECT_EQ(code(open, methods, Scope::kAdmin, ""), denied);
  EXPECT_EQ(code(open, MethodSet::kAll, Scope::kAdmin, ""),
            absl::StatusCode::kOk);
  EXPECT_EQ(code(open, methods, Scope::kInfer, ""), absl::StatusCode::kOk);
  EXPECT_EQ(code(closed, methods, Scope::kAdmin, "Bearer beta"), denied);
  EXPECT_EQ(code(closed, methods, Scope::kAdmin, ""),
            absl::StatusCode::kUnauthenticated)
      << "what the port lacks is not told to strangers";
}

TEST(Authorizer, RefusalsAreCounted) {
  const Authorizer authorizer(Tokens(), HealthAccess::kWithToken);
  (void)authorizer.Authorize(MethodSet::kAll, Scope::kInfer, Shows(""));
  (void)authorizer.Authorize(MethodSet::kAll, Scope::kInfer,
                             Shows("Bearer alpha"));
  (void)authorizer.Authorize(MethodSet::kAll, Scope::kRead,
                             Shows("Bearer alpha"));
  (void)authorizer.Authorize(MethodSet::kAll, std::nullopt,
                             Shows("Bearer alpha"));
  EXPECT_EQ(authorizer.counts().unauthenticated, 1U);
  EXPECT_EQ(authorizer.counts().denied, 2U);
}

TEST(Authorizer, HealthMayBeOpen) {
  const Authorizer authorizer(Tokens(), HealthAccess::kOpen);
  EXPECT_TRUE(
      authorizer.Authorize(MethodSet::kAll, Scope::kHealth, Shows("")).ok());
  EXPECT_FALSE(
      authorizer.Authorize(MethodSet::kAll, Scope::kRead, Shows("")).ok());
}

TEST(Authorizer, OtherTokensAreTakenWhileItIsAsked) {
  Authorizer authorizer(Tokens(), HealthAccess::kWithToken);
  std::thread asks([&] {
    while (authorizer
               .Authorize(MethodSet::kAll, Scope::kInfer, Shows("Bearer alpha"))
               .ok()) {
    }
  });
  authorizer.Replace(Tokens(
      "new infer "
      "sha256:"
      "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753"));
  asks.join();
  EXPECT_TRUE(
      authorizer.Authorize(MethodSet::kAll, Scope::kInfer, Shows("Bearer beta"))
          .ok());
}

}  // namespace
}  // namespace ferry
