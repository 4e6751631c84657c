// SimulatedTime is a Pacer whose time passes only in SleepUntil(), with a
// target in it. One thread, no waiting: a test of an hour takes no time.
//
// Thread safety: single-threaded.
#ifndef FERRY_TESTS_BENCH_SIMULATED_TIME_H_
#define FERRY_TESTS_BENCH_SIMULATED_TIME_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "bench/load/pacer.h"
#include "bench/load/target.h"

namespace ferry::bench {

class SimulatedTime final : public Pacer {
 public:
  TimePoint Now() const override { return now_; }

  // Runs what is due until then, each at its moment; then wakes `oversleep`
  // late, as a busy client does.
  void SleepUntil(TimePoint until) override {
    until += oversleep;
    while (!events_.empty() && events_.begin()->first <= until) {
      auto event = events_.extract(events_.begin());
      now_ = std::max(now_, event.key());
      event.mapped()();
    }
    now_ = std::max(now_, until);
  }

  void At(TimePoint time, std::function<void()> event) {
    events_.emplace(time, std::move(event));
  }

  Duration oversleep{0};

 private:
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  std::multimap<TimePoint, std::function<void()>> events_;
};

// Ends each call after a time and with a code that the test chooses.
class SimulatedTarget final : public Target {
 public:
  explicit SimulatedTarget(SimulatedTime& time) : time_(time) {}

  void Send(uint64_t number, Caller& caller) override {
    ++outstanding;
    most_outstanding = std::max(most_outstanding, outstanding);
    ++sent;
    if (never_answer) {
      waiting_.push_back(&caller);
      return;
    }
    time_.At(ends_at(time_.Now()), [this, number, &caller] {
      --outstanding;
      caller.Ended(code(number));
    });
  }

  void CancelAll() override {
    for (Caller* const caller : std::exchange(waiting_, {})) {
      --outstanding;
      caller->Ended(absl::StatusCode::kCancelled);
    }
  }

  std::function<TimePoint(TimePoint)> ends_at = [](TimePoint now) {
    return now + Milliseconds(10);
  };
  std::function<absl::StatusCode(uint64_t)> code = [](uint64_t) {
    return absl::StatusCode::kOk;
  };
  bool never_answer = false;
  int outstanding = 0;
  int most_outstanding = 0;
  int sent = 0;

 private:
  SimulatedTime& time_;
  std::vector<Caller*> waiting_;
};

}  // namespace ferry::bench

#endif  // FERRY_TESTS_BENCH_SIMULATED_TIME_H_
