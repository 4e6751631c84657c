// BackgroundCall makes calls that may block for long, as those into a driver,
// on a thread of its own: one at a time, and only when it is asked for one.
//
// The destructor waits for a call that runs, for kFarewell at most. A call that
// hangs for longer is left behind with its thread, which owns the function: so
// the function must own all that it uses, or what it uses must never go.
//
// Thread safety: thread-safe.
// Invariants: while a call runs no other is begun, so one that hangs holds one
// thread, whatever asks.
#ifndef FERRY_BASE_BACKGROUND_CALL_H_
#define FERRY_BASE_BACKGROUND_CALL_H_

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry {

template <typename Answer>
class BackgroundCall {
 public:
  static constexpr Duration kFarewell = std::chrono::seconds(1);

  // `thread_name` has at most 15 characters, as the system wants it. `call`
  // does not throw. The clock outlives it.
  BackgroundCall(const std::string& thread_name, std::function<Answer()> call,
                 const Clock& clock = Clock::Steady())
      : clock_(clock),
        shared_(std::make_shared<Shared>(std::move(call))),
        thread_([shared = shared_, thread_name] {
          pthread_setname_np(pthread_self(), thread_name.c_str());
          while (shared->AwaitWish()) {
            shared->Take(shared->call());
          }
        }) {}

  ~BackgroundCall() {
    if (shared_->EndBy(Clock::Steady().Now() + kFarewell)) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;

  // Begins a call, unless one runs.
  void Ask() {
    MutexLock lock(shared_->mutex);
    shared_->Begin(clock_.Now());
  }

  // Does what Ask() does, and returns the answer of the call that runs then;
  // nothing where it has none `at_most` after its begin. So where a call hangs
  // only the first to ask waits.
  std::optional<Answer> AskFor(Duration at_most) {
    MutexLock lock(shared_->mutex);
    shared_->Begin(clock_.Now());
    const uint64_t before = shared_->returned;
    const TimePoint until =
        Clock::Steady().Now() + (shared_->begun + at_most - clock_.Now());
    while (shared_->returned == before && Clock::Steady().Now() < until) {
      shared_->changed.WaitUntil(shared_->mutex, until);
    }
    return shared_->returned == before ? std::nullopt : shared_->answer;
  }

  struct Past {
    Answer answer;
    Duration age;  // since its call began
  };

  // Returns the answer of the last call that returned, however long ago;
  // nothing where none has.
  std::optional<Past> last() const {
    MutexLock lock(shared_->mutex);
    return shared_->answer.has_value()
               ? std::optional<Past>(
                     {*shared_->answer, clock_.Now() - shared_->answer_begun})
               : std::nullopt;
  }

  // Returns for how long a call has been running, or nothing where none is.
  std::optional<Duration> running() const {
    MutexLock lock(shared_->mutex);
    return shared_->is_running
               ? std::optional<Duration>(clock_.Now() - shared_->begun)
               : std::nullopt;
  }

 private:
  // What the thread has, also when it is left behind.
  struct Shared {
    explicit Shared(std::function<Answer()> call_given)
        : call(std::move(call_given)) {}

    void Begin(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      if (!is_running) {
        is_running = true;
        begun = now;
        changed.SignalAll();
      }
    }

    // Waits for one to be begun; false at the end.
    bool AwaitWish() ABSL_LOCKS_EXCLUDED(mutex) {
      MutexLock lock(mutex);
      while (!is_running && !is_over) {
        changed.Wait(mutex);
      }
      has_left = is_over;
      changed.SignalAll();
      return !has_left;
    }

    void Take(Answer given) ABSL_LOCKS_EXCLUDED(mutex) {
      MutexLock lock(mutex);
      answer = std::move(given);
      answer_begun = begun;
      ++returned;
      is_running = false;
      changed.SignalAll();
    }

    // Returns whether the thread has left, or is about to.
    bool EndBy(TimePoint until) ABSL_LOCKS_EXCLUDED(mutex) {
      MutexLock lock(mutex);
      is_over = true;
      changed.SignalAll();
      while (!has_left && Clock::Steady().Now() < until) {
        changed.WaitUntil(mutex, until);
      }
      return has_left;
    }

    const std::function<Answer()> call;
    Mutex mutex;
    CondVar changed;
    bool is_running ABSL_GUARDED_BY(mutex) = false;
    bool is_over ABSL_GUARDED_BY(mutex) = false;
    bool has_left ABSL_GUARDED_BY(mutex) = false;
    TimePoint begun ABSL_GUARDED_BY(mutex);  // the last call
    uint64_t returned ABSL_GUARDED_BY(mutex) = 0;
    std::optional<Answer> answer ABSL_GUARDED_BY(mutex);
    TimePoint answer_begun ABSL_GUARDED_BY(mutex);  // the call it is of
  };

  const Clock& clock_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BASE_BACKGROUND_CALL_H_
