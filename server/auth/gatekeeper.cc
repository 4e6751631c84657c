// Implements Gatekeeper.
#include "server/auth/gatekeeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "models/files/read_file.h"

namespace ferry {
namespace {

constexpr size_t kMaxTokenBytes = 1 << 20;

absl::Status CheckExposed(const TrustOptions& options,
                          const ExposedAddress& exposed) {
  if (!options.has_tls()) {
    return absl::InvalidArgumentError(absl::StrCat(
        exposed.flag,
        ": expected TLS where other machines reach the server, got none: "
        "choose --tls-cert and --tls-key with --auth-token-file; or an address "
        "that this machine alone reaches, as 127.0.0.1 or unix:FILE, behind a "
        "proxy that has TLS; or --insecure, where the network itself is "
        "trusted"));
  }
  const bool has_certificates =
      exposed.asks_certificates && !options.tls.client_ca.empty();
  if (options.token_file.empty() && !has_certificates) {
    return absl::InvalidArgumentError(absl::StrCat(
        exposed.flag, ": expected --auth-token-file",
        exposed.asks_certificates ? " or --tls-client-ca" : "",
        " where other machines reach the server, got none: each client might "
        "call each method; or choose an address that this machine alone "
        "reaches, or --insecure, where the network itself is trusted"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gatekeeper>> Gatekeeper::Open(
    const TrustOptions& options, const std::vector<ExposedAddress>& exposed,
    absl::Time now) {
  if (options.exposure == Exposure::kGuarded) {
    for (const ExposedAddress& one : exposed) {
      if (absl::Status status = CheckExposed(options, one); !status.ok()) {
        return status;
      }
    }
  }
  std::unique_ptr<Gatekeeper> keeper(new Gatekeeper(options));
  if (absl::Status status = keeper->OpenTls(now); !status.ok()) {
    return status;
  }
  if (absl::Status status = keeper->OpenTokens(); !status.ok()) {
    return status;
  }
  if (options.exposure == Exposure::kInsecure) {
    spdlog::warn(
        "--insecure: each client that reaches a port may come without TLS, and "
        "without a token where none is asked for");
  }
  return keeper;
}

absl::StatusOr<TokenFile> Gatekeeper::Parse(const std::string& text) const {
  absl::StatusOr<TokenFile> tokens =
      TokenFile::Parse(text, options_.token_file);
  if (tokens.ok() && tokens->has_certificates() &&
      options_.tls.client_ca.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options_.token_file,
        ": expected --tls-client-ca beside a line with cert:, got none"));
  }
  return tokens;
}

absl::Status Gatekeeper::OpenTls(absl::Time now) {
  if (!options_.has_tls()) {
    return absl::OkStatus();
  }
  auto tls = TlsFiles::Open(options_.tls, now);
  if (!tls.ok()) {
    return tls.status();
  }
  tls_ = *std::move(tls);
  TakeTls();
  return absl::OkStatus();
}

void Gatekeeper::TakeTls() {
  expiry_s_.store(absl::ToUnixSeconds(tls_->expiry()),
                  std::memory_order_relaxed);
  MutexLock lock(mutex_);
  identity_ = tls_->identity();
}

absl::Status Gatekeeper::OpenTokens() {
  if (options_.token_file.empty()) {
    authorizer_ = std::make_shared<Authorizer>(std::nullopt, options_.health);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> text =
      ReadFile(options_.token_file, kMaxTokenBytes);
  if (!text.ok()) {
    return text.status();
  }
  absl::StatusOr<TokenFile> tokens = Parse(*text);
  if (!tokens.ok()) {
    return tokens.status();
  }
  tokens_ = *std::move(text);
  authorizer_ =
      std::make_shared<Authorizer>(*std::move(tokens), options_.health);
  return absl::OkStatus();
}

std::string Gatekeeper::TlsIdentity() const {
  MutexLock lock(mutex_);
  return identity_;
}

void Gatekeeper::LookAtTokens() {
  const absl::StatusOr<std::string> text =
      ReadFile(options_.token_file, kMaxTokenBytes);
  const std::string now = text.ok() ? *text : text.status().ToString();
  const std::string before = std::exchange(tokens_seen_, now);
  if (now == tokens_ || now != before) {  // it may be half written
    return;
  }
  tokens_ = now;
  absl::StatusOr<TokenFile> tokens =
      text.ok() ? Parse(*text) : absl::StatusOr<TokenFile>(text.status());
  tokens_are_stale_.store(!tokens.ok(), std::memory_order_relaxed);
  if (!tokens.ok()) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    spdlog::warn("tokens stay those before: {}",
                 std::string(tokens.status().message()));
    return;
  }
  const size_t clients = tokens->size();
  authorizer_->Replace(*std::move(tokens));
  reloads_.fetch_add(1, std::memory_order_release);  // once it is in force
  spdlog::info("tokens are read again path={} clients={}", options_.token_file,
               clients);
}

void Gatekeeper::Look(absl::Time now) {
  if (!options_.token_file.empty()) {
    LookAtTokens();
  }
  if (tls_ == nullptr) {
    return;
  }
  const absl::StatusOr<bool> is_other = tls_->Look(now);
  tls_is_stale_.store(tls_->is_stale(), std::memory_order_relaxed);
  if (!is_other.ok()) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    spdlog::warn("the certificate stays that before: {}",
                 std::string(is_other.status().message()));
  } else if (*is_other) {
    TakeTls();
    reloads_.fetch_add(1, std::memory_order_release);
    spdlog::info("the certificate is read again path={} valid_until={}",
                 options_.tls.certificate,
                 absl::FormatTime(absl::RFC3339_sec, tls_->expiry(),
                                  absl::UTCTimeZone()));
  }
}

Gatekeeper::Counts Gatekeeper::counts() const {
  Counts counts = {
      .reloads = reloads_.load(std::memory_order_acquire),
      .failures = failures_.load(std::memory_order_relaxed),
      .is_stale = tokens_are_stale_.load(std::memory_order_relaxed) ||
                  tls_is_stale_.load(std::memory_order_relaxed) ||
                  http_is_stale_.load(std::memory_order_relaxed),
      .expiry = std::nullopt,
      .refused = authorizer_->counts()};
  if (tls_ != nullptr) {
    counts.expiry =
        absl::FromUnixSeconds(expiry_s_.load(std::memory_order_relaxed));
  }
  return counts;
}

}  // namespace ferry
