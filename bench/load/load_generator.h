// LoadGenerator puts a load on a Target and measures each call.
//
//   open loop    sends at planned times whatever the server does, and counts
//                latency from the planned time: a stalled server cannot hide
//                the requests that it kept from being sent
//   closed loop  keeps a number of calls outstanding; planned is sent. One that
//                ends with UNAVAILABLE is sent again 1 ms after it was sent, at
//                the earliest, and twice that, up to 100 ms, each time that it
//                ends so again: a server that is not there is not flooded
//   offline      one query of many calls, all planned for its begin, of which a
//                number is outstanding until the last is answered
//
// Guarantees:
//   1. A failed call is counted by its code and never ends the run.
//   2. Only calls planned in [start + warm_up, start + warm_up + measured) are
//      recorded, each once, whenever they end; of a query all.
//   3. When Run...() returns, no call is under way.
//
// Thread safety: one run at a time; Stop() from any thread.
#ifndef FERRY_BENCH_LOAD_LOAD_GENERATOR_H_
#define FERRY_BENCH_LOAD_LOAD_GENERATOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "bench/arrivals/arrival_process.h"
#include "bench/load/load_result.h"
#include "bench/load/pacer.h"
#include "bench/load/target.h"

namespace ferry::bench {

struct LoadPlan {
  TimePoint start;  // past: at once
  // A start that is past is kept all the same, as others keep it too: what was
  // planned until now is sent at once, and late.
  bool keeps_start = false;
  Duration warm_up{0};
  Duration measured{0};
  // How long to wait for answers after the last send.
  Duration drain_limit = Milliseconds(10000);
  int32_t max_outstanding = 8192;  // open loop; memory is bounded by it
  int32_t slices =
      0;  // of the measured window, each with a histogram of its own
  bool keeps_stamps = false;  // of each call; 40 bytes
  // Open loop: asked now and then in the window, with what has ended so far;
  // once it says so no more is sent. Empty: the window is measured whole.
  std::function<bool(const LoadResult&)> is_decided;

  TimePoint window_begin() const { return start + warm_up; }
  TimePoint window_end() const { return start + warm_up + measured; }
};

// How a run does, while it is under way.
struct LoadProgress {
  Duration left{0};       // to the end of the measured window
  Duration measured{0};   // of the window so far
  uint64_t of_query = 0;  // offline: its calls; else 0
  uint64_t ok = 0;
  uint64_t failed = 0;
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
};

class LoadGenerator {
 public:
  // Both must outlive it.
  LoadGenerator(Target& target, Pacer& pacer);
  ~LoadGenerator();

  std::unique_ptr<LoadResult> RunOpen(ArrivalProcess& arrivals,
                                      const LoadPlan& plan);
  // REQUIRES: outstanding >= 1.
  std::unique_ptr<LoadResult> RunClosed(int32_t outstanding,
                                        const LoadPlan& plan);

  // One query of `calls`, at most `outstanding` of them at a time: the next is
  // sent when one is answered, and its latency counts from the query's begin.
  // The window is from the first send to the last answer; of the plan it takes
  // `start`, `keeps_stamps` and `drain_limit`, here the longest time without
  // an answer.
  // REQUIRES: calls >= 1, outstanding >= 1.
  std::unique_ptr<LoadResult> RunOffline(uint64_t calls, int32_t outstanding,
                                         const LoadPlan& plan);

  // Nothing where no run is under way. Any thread.
  std::optional<LoadProgress> progress() const;

  // Ends the run under way, and any later one, early: what was measured until
  // then is its result.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  class Call;

  enum class Loop { kOpen, kClosed, kOffline };

  void Begin(Loop loop, int32_t calls, const LoadPlan& plan);
  std::unique_ptr<LoadResult> End();
  bool SleepUntil(TimePoint until);
  // Whether the plan's is_decided says so; asks it every 20 ms.
  bool IsDecided(TimePoint planned);
  Call* TakeCall(TimePoint give_up);
  void SendPlanned(Call& call, TimePoint planned);
  // For a closed loop: sends what rests when its time has come, until the
  // window ends or it is stopped; then nothing rests any more.
  void SendRested();
  // Returns when the first of those that rest is to be sent; moves those whose
  // time has come to `due`.
  TimePoint TakeRested(TimePoint now, std::vector<Call*>& due);
  // Has the call rest where it is to; returns whether it does.
  bool Rests(Call& call, TimePoint now, absl::StatusCode code)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AwaitAnswers();  // of a query
  bool TakeOfQuery() {
    return left_of_query_.fetch_sub(1, std::memory_order_relaxed) > 0;
  }
  // Whether a call that ended is sent again.
  bool IsSentAgain(TimePoint now);
  void Ended(Call& call, absl::StatusCode code);
  void Record(const Call& call, TimePoint now, absl::StatusCode code)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordClass(const Call& call, TimePoint now, absl::StatusCode code)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordSlice(const Call& call, TimePoint now, bool ok)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsInWindow(TimePoint time) const {
    return time >= plan_.window_begin() && time < plan_.window_end();
  }
  size_t outstanding() const;

  Target& target_;
  Pacer& pacer_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> is_sending_{false};
  std::atomic<uint64_t> next_number_{0};
  std::atomic<int64_t> left_of_query_{0};  // not sent yet; below 0: none

  // Constant while calls are under way.
  LoadPlan plan_;
  // The sender's.
  TimePoint next_look_;
  std::vector<Call*> at_hand_;  // idle, taken all at once
  Loop loop_ = Loop::kOpen;
  uint64_t query_ = 0;  // its calls; 0: no query

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> idle_ ABSL_GUARDED_BY(mutex_);
  std::vector<Call*> resting_ ABSL_GUARDED_BY(mutex_);  // closed loop
  bool may_rest_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<LoadResult> result_ ABSL_GUARDED_BY(mutex_);
  TimePoint last_answer_ ABSL_GUARDED_BY(mutex_);
  bool is_giving_up_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_LOAD_GENERATOR_H_
