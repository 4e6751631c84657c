// CountingCompletion is a Completion that reports, as test failures, whatever
// breaks the contract of batcher/completion.h (G1).
//
// Thread safety: thread-safe. Hooks are set before the request is submitted.
#ifndef FERRY_TESTS_SUPPORT_COUNTING_COMPLETION_H_
#define FERRY_TESTS_SUPPORT_COUNTING_COMPLETION_H_

#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "batcher/completion.h"
#include "tensor/output_buffer.h"

namespace ferry {

class CountingCompletion final : public Completion {
 public:
  // Makes it as good as new, for a request that is submitted again. REQUIRES:
  // answered.
  void Reset();

  void Respond(const RequestResult& result) override;
  void FailEarly(const Outcome& outcome) override;

  // What FailEarly() brought; ok: it was not called.
  Outcome early() const;

  // How often Respond() was called.
  int respond_count() const;
  bool is_answered() const { return respond_count() > 0; }

  // What the last response brought. REQUIRES: is_answered().
  Outcome outcome() const;
  OutputRef output() const;
  int32_t first_row() const;
  int32_t rows() const;
  bool has_time() const;
  Duration compute() const;
  // Its last batch's number; nothing where it was in none.
  std::optional<int64_t> batch() const;

  // Drops the reference to the outputs, as a reply that was written does.
  void DropOutput();

  void WaitUntilAnswered() const;

  // Called at the end of Respond(), without a lock held. A test that waits for
  // the answer may have destroyed the completion by then.
  std::function<void()> on_respond;

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  int respond_count_ ABSL_GUARDED_BY(mutex_) = 0;
  Outcome early_ ABSL_GUARDED_BY(mutex_);
  Outcome outcome_ ABSL_GUARDED_BY(mutex_);
  OutputRef output_ ABSL_GUARDED_BY(mutex_);
  int32_t first_row_ ABSL_GUARDED_BY(mutex_) = 0;
  int32_t rows_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_time_ ABSL_GUARDED_BY(mutex_) = false;
  Duration compute_ ABSL_GUARDED_BY(mutex_){0};
  std::optional<int64_t> batch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_COUNTING_COMPLETION_H_
