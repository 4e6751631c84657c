// Scope is what a client may do; ScopeOf() and ScopeOfPage() say which one a
// method of gRPC and a page of HTTP need.
//
// Thread safety: free functions and plain values.
#ifndef FERRY_SERVER_AUTH_SCOPE_H_
#define FERRY_SERVER_AUTH_SCOPE_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace ferry {

enum class Scope : uint8_t {
  kOpen,    // what tells nothing of this server: each client has it
  kHealth,  // whether it lives and is ready; each client has it by a flag
  kInfer,   // inferences, and what a client asks before them
  kRead,    // metrics, statistics, settings, the repository's index
  kAdmin,   // loads, unloads, runtime options, and the server's end
};
inline constexpr size_t kScopeCount = 5;
using Scopes = std::bitset<kScopeCount>;

// Returns "infer", as token files have it. REQUIRES: not kOpen or kHealth,
// which no file names.
const char* NameOf(Scope scope);
std::optional<Scope> ParseScope(absl::string_view name);

// Returns what a client needs for an RPC, by its path, as
// "/inference.GRPCInferenceService/ModelInfer"; nothing where it is no method
// that is served, which then no client may call.
std::optional<Scope> ScopeOf(absl::string_view path);

// Returns what a client needs for a page, by its path, as "/metrics"; also for
// one that is not there.
Scope ScopeOfPage(absl::string_view path);

}  // namespace ferry

#endif  // FERRY_SERVER_AUTH_SCOPE_H_
