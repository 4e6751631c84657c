// Counting, and complaining about what comes twice or too early.
#include "tests/support/counting_completion.h"

#include <gtest/gtest.h>

#include <utility>

namespace ferry {

CountingCompletion::~CountingCompletion() {
  EXPECT_EQ(respond_count(), released_count())
      << "a request was answered and not released, or the reverse";
}

void CountingCompletion::Reset() {
  MutexLock lock(mutex_);
  EXPECT_EQ(respond_count_, released_count_) << "reset while it is under way";
  respond_count_ = 0;
  released_count_ = 0;
  outcome_ = {};
  output_ = OutputRef();
  first_row_ = 0;
  rows_ = 0;
}

void CountingCompletion::Respond(Outcome outcome, OutputRows rows, Last last) {
  {
    MutexLock lock(mutex_);
    EXPECT_EQ(last, Last::kYes) << "a request of one response";
    EXPECT_EQ(respond_count_, 0)
        << "answered twice: " << outcome_.text << ", then " << outcome.text;
    EXPECT_EQ(released_count_, 0) << "answered after it was released";
    EXPECT_EQ(outcome.ok(), rows.buffer != nullptr)
        << "outputs come exactly with an ok outcome";
    ++respond_count_;
    outcome_ = outcome;
    output_ = OutputRef(rows.buffer);
    first_row_ = rows.first;
    rows_ = rows.count;
    changed_.SignalAll();
  }
  if (on_respond) {
    on_respond();
  }
}

void CountingCompletion::Released() {
  // A copy: once the count is up, whoever waits may destroy this object.
  const std::function<void()> hook = on_released;
  {
    MutexLock lock(mutex_);
    EXPECT_EQ(respond_count_, 1) << "released before it was answered";
    EXPECT_EQ(released_count_, 0) << "released twice";
    ++released_count_;
    changed_.SignalAll();
  }
  if (hook) {
    hook();
  }
}

int CountingCompletion::respond_count() const {
  MutexLock lock(mutex_);
  return respond_count_;
}

int CountingCompletion::released_count() const {
  MutexLock lock(mutex_);
  return released_count_;
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

void CountingCompletion::WaitUntilReleased() const {
  MutexLock lock(mutex_);
  while (released_count_ == 0) {
    changed_.Wait(mutex_);
  }
}

}  // namespace ferry
