// TypeFailures keeps of a model in bf16 the rows of a batch that failed as
// types in it do not agree, until control has them run in fp32.
//
// Bounds: one batch at a time, the second a minute after the first, and then
// after twice as long each time: a load in fp32 follows each, and a model may
// fail there, too.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_TYPE_FAILURES_H_
#define FERRY_MODELS_TYPE_FAILURES_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "models/kept_batch.h"

namespace ferry {

// Whether LibTorch says that types do not agree, or that one is not computed.
bool IsOfTypes(absl::string_view failure);

class TypeFailures {
 public:
  static constexpr Duration kBetween = std::chrono::minutes(1);
  static constexpr Duration kMostBetween = std::chrono::minutes(64);

  struct Failure {
    std::string why;
    std::shared_ptr<const KeptBatch> batch;
  };

  // Keeps a copy of the batch where it failed by types and the bounds allow it,
  // also in place of one of more requests that is not taken yet: that may have
  // a row which fails anywhere.
  // REQUIRES: as of KeptBatch.
  void Note(const Batch& batch, absl::string_view why, TimePoint now);

  // Returns what is kept, which then is not any more.
  std::optional<Failure> Take();

 private:
  Mutex mutex_;
  std::optional<Failure> kept_ ABSL_GUARDED_BY(mutex_);
  Duration between_ ABSL_GUARDED_BY(mutex_) = kBetween;
  TimePoint next_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_MODELS_TYPE_FAILURES_H_
