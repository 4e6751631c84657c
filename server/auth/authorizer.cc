// Implements Authorizer.
#include "server/auth/authorizer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace ferry {
namespace {

constexpr absl::string_view kBearer = "Bearer ";  // RFC 6750, 2.1

// Returns the token of the header; empty where it has none. The scheme's case
// does not matter (RFC 9110, 11.1).
absl::string_view TokenOf(absl::string_view authorization) {
  return absl::StartsWithIgnoreCase(authorization, kBearer)
             ? authorization.substr(kBearer.size())
             : absl::string_view();
}

const Identity* Find(const TokenFile& file, const Presented& presented) {
  if (!presented.authorization.empty() || presented.certificate_names.empty()) {
    return file.FindToken(TokenOf(presented.authorization));
  }
  return file.FindCertificate(presented.certificate_names);
}

}  // namespace

Authorizer::Authorizer(std::optional<TokenFile> tokens, HealthAccess health)
    : health_(health), has_tokens_(tokens.has_value()) {
  if (has_tokens_) {
    tokens_ = std::make_shared<const TokenFile>(*std::move(tokens));
  }
}

void Authorizer::Replace(TokenFile tokens) {
  Check(has_tokens_, "tokens replace tokens");
  auto replaced = std::make_shared<const TokenFile>(std::move(tokens));
  MutexLock lock(mutex_);
  tokens_.swap(replaced);
}

std::shared_ptr<const TokenFile> Authorizer::tokens() const {
  MutexLock lock(mutex_);
  return tokens_;
}

std::string Authorizer::NameOfClient(const Presented& presented) const {
  const std::shared_ptr<const TokenFile> file = tokens();
  const Identity* const identity =
      file == nullptr ? nullptr : Find(*file, presented);
  return identity == nullptr ? "" : identity->name;
}

absl::Status Authorizer::Authorize(MethodSet methods,
                                   std::optional<Scope> needed,
                                   const Presented& presented) const {
  absl::Status status = Decide(methods, needed, presented);
  if (absl::IsUnauthenticated(status)) {
    unauthenticated_.fetch_add(1, std::memory_order_relaxed);
  } else if (!status.ok()) {
    denied_.fetch_add(1, std::memory_order_relaxed);
  }
  return status;
}

absl::Status Authorizer::Decide(MethodSet methods, std::optional<Scope> needed,
                                const Presented& presented) const {
  if (needed == Scope::kOpen ||
      (needed == Scope::kHealth && health_ == HealthAccess::kOpen)) {
    return absl::OkStatus();
  }
  const std::shared_ptr<const TokenFile> file = tokens();
  const Identity* const identity =
      file == nullptr ? nullptr : Find(*file, presented);
  if (file != nullptr && identity == nullptr) {
    return absl::UnauthenticatedError(
        "expected metadata 'authorization: Bearer TOKEN' with a token of this "
        "server, got none that it knows");
  }
  if (needed == Scope::kAdmin && methods == MethodSet::kWithoutAdmin) {
    return absl::PermissionDeniedError(
        "expected this method at the server's --admin-address alone, got it "
        "elsewhere");
  }
  if (file == nullptr) {
    return absl::OkStatus();
  }
  if (!needed.has_value()) {
    return absl::PermissionDeniedError("expected a method of this server");
  }
  if (*needed != Scope::kHealth &&
      !identity->scopes.test(static_cast<size_t>(*needed))) {
    return absl::PermissionDeniedError(
        absl::StrCat("expected a client with the scope ", NameOf(*needed),
                     ", got '", identity->name, "', which lacks it"));
  }
  return absl::OkStatus();
}

Authorizer::Counts Authorizer::counts() const {
  return {.unauthenticated = unauthenticated_.load(std::memory_order_relaxed),
          .denied = denied_.load(std::memory_order_relaxed)};
}

}  // namespace ferry
