// LogModelFailure logs in full what clients get as a constant text.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_FAILURE_LOG_H_
#define FERRY_MODELS_FAILURE_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ferry {

// Writes one line for a model that failed in `step`; at most one a second for
// the process, with the count of those left out.
void LogModelFailure(const std::string& model, absl::string_view step,
                     absl::string_view text);

// Writes one line for a model that is served as `what`, which is slower, and
// why. Once a load.
void LogModelFallback(const std::string& model, absl::string_view what,
                      absl::string_view why);

}  // namespace ferry

#endif  // FERRY_MODELS_FAILURE_LOG_H_
