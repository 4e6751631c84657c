// Check() ends the process when a REQUIRES or an invariant is broken.
//
// A function and not a macro: the defaults name the caller. Only for
// bugs in Ferry; what a client, a model or a machine can get wrong is an
// absl::Status or an Outcome.
#ifndef FERRY_BASE_CHECK_H_
#define FERRY_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace ferry {

// Aborts with file, line and `what` unless `ok`.
inline void Check(bool ok, const char* what,
                  const char* file = __builtin_FILE(),
                  unsigned line = __builtin_LINE()) {
  if (ok) [[likely]] {
    return;
  }
  std::fprintf(stderr, "%s:%u: check failed: %s\n", file, line, what);
  std::abort();
}

}  // namespace ferry

#endif  // FERRY_BASE_CHECK_H_
