// IdleWait: how a thread that has run out of work waits for the next, from what
// it learned of its waits: by polling, or asleep.
//
// To wake a thread that sleeps takes 5 to 50 us, on top of what it was woken
// for. So a thread polls
//   - after work, for at most max_poll, if its last wait after work ended
//   within
//     that time;
//   - before an alarm, for as long as its sleeps have ended late, but for at
//     most an eighth of the wait.
// A thread to which nothing comes does not poll, nor one to which something
// comes now and then: a poll in vain is the last one until a wait was short.
// (As guests and hosts of virtual machines poll before a processor halts:
// Documentation/virt/guest-halt-polling.rst of Linux.)
//
// Thread safety: thread-compatible; each thread has its own.
#ifndef FERRY_BATCHER_IDLE_WAIT_H_
#define FERRY_BATCHER_IDLE_WAIT_H_

#include <algorithm>

#include "batcher/clock.h"

namespace ferry {

class IdleWait {
 public:
  static constexpr Duration kMaxLead = std::chrono::microseconds(100);
  // Whoever is away for longer between two looks has to share its processor.
  static constexpr Duration kShortAbsence = std::chrono::microseconds(50);

  struct Plan {
    bool polls = false;  // else sleeps
    TimePoint until;     // then ask for the next plan
  };

  // 0: never polls after work.
  explicit IdleWait(Duration max_poll) : max_poll_(max_poll) {}

  // Some work is done. The wait after it may poll.
  void WorkEnded() {
    is_after_work_ = true;
    idle_since_ = kNever;
  }
  // The same; from now on it polls for at most `max_poll`.
  void WorkEnded(Duration max_poll) {
    max_poll_ = max_poll;
    WorkEnded();
  }

  // What to do at `now`; `alarm` is when there is something to do (kNever: no
  // such moment).
  Plan Next(TimePoint now, TimePoint alarm) {
    if (idle_since_ == kNever) {
      idle_since_ = now;
      poll_until_ =
          is_after_work_ && last_idle_ <= max_poll_ ? now + max_poll_ : now;
    }
    if (now < poll_until_) {
      return {.polls = true, .until = std::min(poll_until_, alarm)};
    }
    if (alarm == kNever) {
      return {.polls = false, .until = kNever};
    }
    if (alarm != alarm_) {
      alarm_ = alarm;
      lead_begins_ = alarm - std::min(lead(), (alarm - now) / kLeadShare);
    }
    return now < lead_begins_ ? Plan{.polls = false, .until = lead_begins_}
                              : Plan{.polls = true, .until = alarm};
  }

  // A plan's sleep ended at `now`. Before `until` says nothing: it was woken.
  void Slept(TimePoint until, TimePoint now) {
    if (now >= until) {
      late_ += (std::min(now - until, kMaxLead) - late_) / kLateWindow;
    }
  }

  // A poll looked at `last`, in vain, and is about to look again at `now`.
  // Returns whether it may: where the processor was taken away meanwhile,
  // others need it.
  bool Polled(TimePoint last, TimePoint now) {
    if (now - last <= kShortAbsence) {
      return true;
    }
    poll_until_ = idle_since_;
    last_idle_ = Duration::max();
    is_after_work_ = false;  // nothing is learned of this wait
    return false;
  }

  // Whether it waits, or is about to, for the first that comes after work.
  // Where not, and there is no alarm, Next() says to sleep, whatever the time.
  bool is_after_work() const { return is_after_work_; }

  // Whether it has waited since the last work ended; if not, NewsCame() learns
  // nothing from the time.
  bool has_waited() const { return idle_since_ != kNever; }

  // The first that there is to do after work came at `now`. What is waited for
  // after that, as company for a batch, has its alarm.
  void NewsCame(TimePoint now) {
    if (is_after_work_ && idle_since_ != kNever) {
      last_idle_ = now - idle_since_;
    }
    is_after_work_ = false;
    poll_until_ = now;
  }

  // How long before an alarm the thread has itself woken: a quarter more than
  // it was late of late.
  Duration lead() const { return std::min(late_ + late_ / 4, kMaxLead); }

 private:
  static constexpr int kLateWindow = 8;  // sleeps over which lateness is meant
  static constexpr int kLeadShare = 8;   // of the wait

  Duration max_poll_;
  Duration late_{0};
  // From work to the next, the time to wake up included.
  Duration last_idle_ = Duration::max();
  bool is_after_work_ = false;
  TimePoint idle_since_ = kNever;  // kNever: works
  TimePoint poll_until_;
  TimePoint alarm_ = kNever;  // that of lead_begins_
  TimePoint lead_begins_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_IDLE_WAIT_H_
