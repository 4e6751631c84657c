// LogModelFailure logs in full what clients get as a constant text and a code.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_FAILURE_LOG_H_
#define FERRY_MODELS_FAILURE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

// FailureRate says which failures have a line in the log: one a second of a
// model and reason, so that no model's, and no reason's, hides another's.
//
// Bound: kMaxReasons lines a second of a model, and what is remembered is
// bounded by that and by kMaxModels.
//
// Thread safety: thread-safe.
class FailureRate {
 public:
  static constexpr size_t kMaxReasons = 16;
  static constexpr size_t kMaxModels = 1000;

  // Returns how many lines of the model were left out since its last, where
  // this one is written; nothing where it is left out, too.
  std::optional<int64_t> TryTake(const std::string& model, uint32_t reason,
                                 TimePoint now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Model {
    std::map<uint32_t, TimePoint> next_lines;  // by reason
    int64_t left_out = 0;
  };

  Mutex mutex_;
  std::map<std::string, Model> models_ ABSL_GUARDED_BY(mutex_);
};

// Writes one line for a model that failed in `step`: why, then the trace, at
// the rate above. Returns the code of the model and reason, which stands in
// the line and is told to clients.
uint32_t LogModelFailure(const std::string& model, absl::string_view step,
                         const absl::Status& failure);

// Writes where in its code a model failed while it was loaded; why stands in
// the error of the load. Nothing where `failure` has no trace.
void LogLoadTrace(const std::string& model, const absl::Status& failure);

// Writes one line for a model that is served as `what`, which is slower, and
// why. Once a load.
void LogModelFallback(const std::string& model, absl::string_view what,
                      absl::string_view why);

}  // namespace ferry

#endif  // FERRY_MODELS_FAILURE_LOG_H_
