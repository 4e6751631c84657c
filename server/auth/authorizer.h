// Authorizer says whether a client may call a method: the one place where that
// is decided, in front of each RPC of each service and of each page.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_AUTH_AUTHORIZER_H_
#define FERRY_SERVER_AUTH_AUTHORIZER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "server/auth/scope.h"
#include "server/auth/token_file.h"
#include "server/auth/trust_options.h"

namespace ferry {

// Which methods a port has.
enum class MethodSet : uint8_t { kAll, kWithoutAdmin };

// What a client shows of itself.
struct Presented {
  absl::string_view authorization;  // the header; empty: none
  // Names in a certificate that was verified.
  absl::Span<const absl::string_view> certificate_names;
};

class Authorizer {
 public:
  struct Counts {
    uint64_t unauthenticated = 0;
    uint64_t denied = 0;
  };

  // `tokens`: nothing: each client may call each method of its port.
  Authorizer(std::optional<TokenFile> tokens, HealthAccess health);

  // `needed`: nothing where the method is not served. A client that shows a
  // token is known by that alone, else by its certificate. Errors:
  // UNAUTHENTICATED, in the same words for none and for one that is not known;
  // PERMISSION_DENIED where it lacks the scope, which each may do without for
  // health, or where its port lacks the method.
  absl::Status Authorize(MethodSet methods, std::optional<Scope> needed,
                         const Presented& presented) const;

  // Returns the client's name in the file; empty where it is not known, or
  // there is none.
  std::string NameOfClient(const Presented& presented) const;

  // Takes other tokens from now on. REQUIRES: it had some.
  void Replace(TokenFile tokens) ABSL_LOCKS_EXCLUDED(mutex_);

  bool has_tokens() const { return has_tokens_; }
  // How many were refused.
  Counts counts() const;

 private:
  absl::Status Decide(MethodSet methods, std::optional<Scope> needed,
                      const Presented& presented) const;
  std::shared_ptr<const TokenFile> tokens() const ABSL_LOCKS_EXCLUDED(mutex_);

  const HealthAccess health_;
  const bool has_tokens_;
  mutable Mutex mutex_;
  std::shared_ptr<const TokenFile> tokens_ ABSL_GUARDED_BY(mutex_);
  mutable std::atomic<uint64_t> unauthenticated_{0};
  mutable std::atomic<uint64_t> denied_{0};
};

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_AUTHORIZER_H_
