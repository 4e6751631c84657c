// Implements CountingCompletion: counts, and reports what comes twice.
#include "tests/support/counting_completion.h"

#include <gtest/gtest.h>

#include <utility>

#include "batcher/batch.h"

namespace ferry {

void CountingCompletion::Reset() {
  MutexLock lock(mutex_);
  respond_count_ = 0;
  early_ = {};
  outcome_ = {};
  output_ = OutputRef();
  first_row_ = 0;
  rows_ = 0;
}

void CountingCompletion::Respond(const RequestResult& result) {
  // A copy: once the count is up, a test that waits may destroy this object.
  const std::function<void()> hook = on_respond;
  {
    MutexLock lock(mutex_);
    EXPECT_EQ(respond_count_, 0) << "answered twice: " << outcome_.text
                                 << ", then " << result.outcome.text;
    EXPECT_EQ(result.outcome.ok(), result.rows.buffer != nullptr)
        << "outputs come exactly with an ok outcome";
    EXPECT_TRUE(early_.ok() || early_.code == result.outcome.code)
        << early_.text << " was told before " << result.outcome.text;
    ++respond_count_;
    outcome_ = result.outcome;
    output_ = OutputRef(result.rows.buffer);
    first_row_ = result.rows.first;
    rows_ = result.rows.count;
    has_time_ = result.has_time;
    compute_ = result.compute;
    batch_.reset();
    if (result.batch != nullptr) {
      batch_ = result.batch->sequence();
    }
    changed_.SignalAll();
  }
  if (hook) {
    hook();
  }
}

void CountingCompletion::FailEarly(const Outcome& outcome) {
  MutexLock lock(mutex_);
  EXPECT_EQ(respond_count_, 0) << "answered before " << outcome.text;
  EXPECT_TRUE(early_.ok()) << "told twice: " << early_.text << ", then "
                           << outcome.text;
  EXPECT_FALSE(outcome.ok()) << "only a failure is told early";
  early_ = outcome;
}

Outcome CountingCompletion::early() const {
  MutexLock lock(mutex_);
  return early_;
}

int CountingCompletion::respond_count() const {
  MutexLock lock(mutex_);
  return respond_count_;
}

Outcome CountingCompletion::outcome() const {
  MutexLock lock(mutex_);
  EXPECT_EQ(respond_count_, 1) << "has no answer yet";
  return outcome_;
}

OutputRef CountingCompletion::output() const {
  MutexLock lock(mutex_);
  return output_;
}

int32_t CountingCompletion::first_row() const {
  MutexLock lock(mutex_);
  return first_row_;
}

int32_t CountingCompletion::rows() const {
  MutexLock lock(mutex_);
  return rows_;
}

Duration CountingCompletion::compute() const {
  MutexLock lock(mutex_);
  return compute_;
}

bool CountingCompletion::has_time() const {
  MutexLock lock(mutex_);
  return has_time_;
}

std::optional<int64_t> CountingCompletion::batch() const {
  MutexLock lock(mutex_);
  return batch_;
}

void CountingCompletion::DropOutput() {
  OutputRef dropped;
  MutexLock lock(mutex_);
  std::swap(dropped, output_);
}

void CountingCompletion::WaitUntilAnswered() const {
  MutexLock lock(mutex_);
  while (respond_count_ == 0) {
    changed_.Wait(mutex_);
  }
}

}  // namespace ferry
