// Gatekeeper holds what decides which client may ask: the certificate, the
// tokens, and whether either is needed. It reads their files again where they
// change.
//
// Safe by default: a server that other machines reach has TLS and knows its
// clients, unless it is told otherwise.
//
// Thread safety: Look() by one thread, which it may keep for as long as a
// folder takes to answer; the rest is thread-safe, and waits for no file.
#ifndef FERRY_SERVER_AUTH_GATEKEEPER_H_
#define FERRY_SERVER_AUTH_GATEKEEPER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/auth/authorizer.h"
#include "server/auth/tls_files.h"
#include "server/auth/trust_options.h"

namespace ferry {

// A flag and its address, which other machines reach.
struct ExposedAddress {
  std::string flag;  // "--grpc-address=0.0.0.0"
  bool asks_certificates = true;
};

class Gatekeeper {
 public:
  struct Counts {
    uint64_t reloads = 0;   // of certificates and tokens
    uint64_t failures = 0;  // that left those before in force
    bool is_stale = false;  // those before are in force now
    // When the certificate is over; nothing without TLS.
    std::optional<absl::Time> expiry;
    Authorizer::Counts refused;
  };

  // Errors: of files that are missing or wrong, or of an address that others
  // reach without what that needs.
  static absl::StatusOr<std::unique_ptr<Gatekeeper>> Open(
      const TrustOptions& options, const std::vector<ExposedAddress>& exposed,
      absl::Time now);

  const Authorizer& authorizer() const { return *authorizer_; }
  std::shared_ptr<const Authorizer> shared_authorizer() const {
    return authorizer_;
  }
  // Null without TLS. Its paths are for any thread.
  const TlsFiles* tls_files() const { return tls_.get(); }
  // Key and certificates in force, in one PEM; empty without TLS.
  std::string TlsIdentity() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Reads again what has changed, and logs it.
  void Look(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes whether HTTP serves another certificate than the one in force. Any
  // thread.
  void SetHttpIsStale(bool is_stale) {
    http_is_stale_.store(is_stale, std::memory_order_relaxed);
  }
  // Whether there are files to look at.
  bool has_files() const {
    return tls_ != nullptr || !options_.token_file.empty();
  }

  Counts counts() const;

 private:
  explicit Gatekeeper(const TrustOptions& options) : options_(options) {}

  absl::Status OpenTls(absl::Time now);
  absl::Status OpenTokens();
  // Tells other threads of the certificate that is in force.
  void TakeTls() ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAtTokens();
  absl::StatusOr<TokenFile> Parse(const std::string& text) const;

  const TrustOptions options_;
  std::unique_ptr<TlsFiles> tls_;  // null: no TLS; of the thread that looks
  mutable Mutex mutex_;
  std::string identity_ ABSL_GUARDED_BY(mutex_);  // empty: no TLS
  std::shared_ptr<Authorizer> authorizer_;
  std::string tokens_;       // the text that was taken, or refused, last
  std::string tokens_seen_;  // at the last look
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> failures_{0};
  std::atomic<bool> tokens_are_stale_{false};
  std::atomic<bool> tls_is_stale_{false};
  std::atomic<bool> http_is_stale_{false};
  std::atomic<int64_t> expiry_s_{0};  // since 1970
};

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_GATEKEEPER_H_
