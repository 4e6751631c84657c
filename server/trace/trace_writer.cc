// Implements TraceWriter: a list, and a thread that empties it.
#include "server/trace/trace_writer.h"

#include <pthread.h>

#include <atomic>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace ferry {

class TraceWriter::State {
 public:
  State(Write write, Duration period)
      : write_(std::move(write)), period_(period) {}

  void Keep(RequestTrace trace) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (waiting_.size() >= kMaxWaiting) {
      Drop(1);
      return;
    }
    waiting_.push_back(std::move(trace));
    if (waiting_.size() == kMany) {
      changed_.SignalAll();
    }
  }

  void Flush(TimePoint until) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    const uint64_t mine = ++wanted_;
    changed_.SignalAll();
    while (done_ < mine && Clock::Steady().Now() < until) {
      changed_.WaitUntil(mutex_, until);
    }
  }

  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (bool is_last = false; !is_last;) {
      std::deque<RequestTrace> traces;
      uint64_t flush = 0;
      {
        MutexLock lock(mutex_);
        AwaitCause();
        is_last = is_over_;
        flush = wanted_;
        traces.swap(waiting_);
      }
      const size_t count = traces.size();
      try {
        write_(std::move(traces));
      } catch (const std::bad_alloc&) {
        Drop(count);
      }
      MutexLock lock(mutex_);
      done_ = flush;
      has_left_ = is_last;
      changed_.SignalAll();
    }
  }

  // Returns whether the thread has left, or is about to.
  bool EndBy(TimePoint until) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.SignalAll();
    while (!has_left_ && Clock::Steady().Now() < until) {
      changed_.WaitUntil(mutex_, until);
    }
    return has_left_;
  }

  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  // Waits until there is a cause to write.
  void AwaitCause() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const TimePoint until =
        period_ == kNoPeriod ? kNever : Clock::Steady().Now() + period_;
    while (!is_over_ && wanted_ == done_ && waiting_.size() < kMany &&
           Clock::Steady().Now() < until) {
      changed_.WaitUntil(mutex_, until);
    }
  }

  void Drop(size_t count) {
    dropped_.fetch_add(count, std::memory_order_relaxed);
  }

  const Write write_;
  const Duration period_;
  std::atomic<uint64_t> dropped_{0};

  Mutex mutex_;
  CondVar changed_;
  std::deque<RequestTrace> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t wanted_ ABSL_GUARDED_BY(mutex_) = 0;  // flushes
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;    // of those
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_left_ ABSL_GUARDED_BY(mutex_) = false;
};

TraceWriter::TraceWriter(const std::string& thread_name, Write write,
                         Duration period)
    : state_(std::make_shared<State>(std::move(write), period)),
      thread_([state = state_, thread_name] {
        pthread_setname_np(pthread_self(), thread_name.c_str());
        state->Run();
      }) {}

TraceWriter::~TraceWriter() {
  if (state_->EndBy(Clock::Steady().Now() + kFarewell)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void TraceWriter::Keep(RequestTrace trace) { state_->Keep(std::move(trace)); }

void TraceWriter::Flush(TimePoint until) { state_->Flush(until); }

uint64_t TraceWriter::dropped() const { return state_->dropped(); }

}  // namespace ferry
