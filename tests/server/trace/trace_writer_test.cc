// Tests when what waits is written, and what is dropped where it is not.
#include "server/trace/trace_writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace ferry {
namespace {

// What was written, which outlives a writer that is left behind.
class Written {
 public:
  void Add(const std::deque<RequestTrace>& traces) {
    MutexLock lock(mutex_);
    while (is_shut_) {
      changed_.Wait(mutex_);
    }
    for (const RequestTrace& trace : traces) {
      names_.push_back(trace.model);
    }
    changed_.SignalAll();
  }
  // What is written waits from now on, or does so no more.
  void Shut(bool is_shut) {
    MutexLock lock(mutex_);
    is_shut_ = is_shut;
    changed_.SignalAll();
  }
  void AwaitCount(size_t count) {
    MutexLock lock(mutex_);
    while (names_.size() < count) {
      changed_.Wait(mutex_);
    }
  }
  std::vector<std::string> names() {
    MutexLock lock(mutex_);
    return names_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
  bool is_shut_ ABSL_GUARDED_BY(mutex_) = false;
};

std::unique_ptr<TraceWriter> WriterTo(
    const std::shared_ptr<Written>& written,
    Duration period = TraceWriter::kNoPeriod) {
  return std::make_unique<TraceWriter>(
      "ferry-test",
      [written](const std::deque<RequestTrace>& traces) {
        written->Add(traces);
      },
      period);
}

RequestTrace Named(const std::string& name) {
  RequestTrace trace;
  trace.model = name;
  return trace;
}

using Names = std::vector<std::string>;

TEST(TraceWriter, FlushWritesWhatWasKeptInItsOrder) {
  const auto written = std::make_shared<Written>();
  const auto writer = WriterTo(written);
  writer->Keep(Named("one"));
  writer->Keep(Named("two"));
  writer->Flush(kNever);
  EXPECT_EQ(written->names(), (Names{"one", "two"}));
  writer->Keep(Named("three"));
  writer->Flush(kNever);
  EXPECT_EQ(written->names(), (Names{"one", "two", "three"}));
}

TEST(TraceWriter, EndWritesTheRest) {
  const auto written = std::make_shared<Written>();
  auto writer = WriterTo(written);
  writer->Keep(Named("one"));
  writer.reset();
  written->AwaitCount(1);
}

TEST(TraceWriter, PeriodIsACause) {
  const auto written = std::make_shared<Written>();
  const auto writer = WriterTo(written, Milliseconds(5));
  writer->Keep(Named("one"));
  written->AwaitCount(1);
}

TEST(TraceWriter, ManyThatWaitAreACause) {
  const auto written = std::make_shared<Written>();
  const auto writer = WriterTo(written);
  for (size_t i = 0; i < TraceWriter::kMany; ++i) {
    writer->Keep(Named("many"));
  }
  written->AwaitCount(TraceWriter::kMany);
}

TEST(TraceWriter, TooManyThatWaitAreDroppedAndCounted) {
  const auto written = std::make_shared<Written>();
  const auto writer = WriterTo(written);
  written->Shut(true);
  writer->Flush(Clock::Steady().Now());  // the thread waits in it, or will
  for (size_t i = 0; i < 3 * TraceWriter::kMaxWaiting; ++i) {
    writer->Keep(Named("many"));
  }
  EXPECT_GE(writer->dropped(), TraceWriter::kMaxWaiting);
  written->Shut(false);
  writer->Flush(kNever);
  EXPECT_EQ(written->names().size() + writer->dropped(),
            3 * TraceWriter::kMaxWaiting);
}

// It ends, or hangs.
TEST(TraceWriter, WritingThatHangsHoldsUpNeitherFlushNorEnd) {
  const auto written = std::make_shared<Written>();
  auto writer = WriterTo(written);
  written->Shut(true);
  writer->Keep(Named("one"));
  writer->Flush(Clock::Steady().Now() + Milliseconds(10));
  writer.reset();  // returns
  written->Shut(false);
  written->AwaitCount(1);  // the thread goes on, and leaves
}

TEST(TraceWriter, FlushThatComesWhileAnotherWritesWritesWhatCameSince) {
  const auto written = std::make_shared<Written>();
  const auto writer = WriterTo(written);
  written->Shut(true);
  writer->Keep(Named("one"));
  writer->Flush(Clock::Steady().Now());
  writer->Keep(Named("two"));
  written->Shut(false);
  writer->Flush(kNever);
  EXPECT_EQ(written->names(), (Names{"one", "two"}));
}

TEST(TraceWriter, WhatThereIsNoMemoryForIsDropped) {
  TraceWriter writer("ferry-test", [](const std::deque<RequestTrace>& traces) {
    if (!traces.empty()) {
      throw std::bad_alloc();
    }
  });
  writer.Keep(Named("one"));
  writer.Keep(Named("two"));
  writer.Flush(kNever);
  EXPECT_EQ(writer.dropped(), 2U);
}

}  // namespace
}  // namespace ferry
