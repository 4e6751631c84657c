// Waiting for batches: polling, then asleep.
#include "batcher/work_queue.h"

#include <sched.h>

#include <utility>

namespace ferry {
namespace {

constexpr int kPausesPerLook = 16;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void WorkQueue::Push(Work work) {
  bool must_wake = false;
  {
    MutexLock lock(mutex_);
    items_.push_back(std::move(work));
    changes_.fetch_add(1, std::memory_order_release);
    must_wake = open() > polling_;
  }
  if (must_wake) {
    changed_.SignalOne();
  }
}

bool WorkQueue::WakeOne(BackendEvents& events) {
  if (waiting_.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  bool must_wake = false;
  {
    MutexLock lock(mutex_);
    if (to_tell_ != nullptr) {
      return true;  // it is on its way
    }
    // Those that wait and have work are woken for it already.
    if (waiting_.load(std::memory_order_relaxed) <= open()) {
      return false;
    }
    to_tell_ = &events;
    changes_.fetch_add(1, std::memory_order_release);
    must_wake = open() > polling_;
  }
  if (must_wake) {
    changed_.SignalOne();
  }
  return true;
}

bool WorkQueue::has_work() {
  MutexLock lock(mutex_);
  return !items_.empty();
}

bool WorkQueue::HasSleeper() {
  MutexLock lock(mutex_);
  return waiting_.load(std::memory_order_relaxed) > 0 && polling_ == 0 &&
         open() == 0;
}

Work WorkQueue::Pop(IdleWait& idle) {
  TimePoint call_at = kNever;  // `told` has to be told again
  BackendEvents* told = nullptr;
  mutex_.Lock();
  for (;;) {
    if (to_tell_ != nullptr) {
      told = std::exchange(to_tell_, nullptr);
      mutex_.Unlock();
      idle.NewsCame(Clock::Steady().Now());
      call_at = told->LaneAwake();
      mutex_.Lock();
    } else if (!items_.empty() || closed_) {
      break;
    } else if (const TimePoint now = Clock::Steady().Now(); call_at <= now) {
      to_tell_ = told;
    } else {
      Wait(idle.Next(now, call_at), idle);
    }
  }
  Work work;
  if (!items_.empty()) {
    work = std::move(items_.front());
    items_.erase(items_.begin());
  }
  mutex_.Unlock();
  // Reading the clock takes longer than all else here.
  idle.NewsCame(idle.has_waited() ? Clock::Steady().Now() : TimePoint());
  if (call_at != kNever) {
    told->LaneBusy();
  }
  return work;
}

void WorkQueue::Wait(const IdleWait::Plan& plan, IdleWait& idle) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  if (plan.polls) {
    Poll(plan.until, idle);
  } else {
    changed_.WaitUntil(mutex_, plan.until);
    idle.Slept(plan.until, Clock::Steady().Now());
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void WorkQueue::Poll(TimePoint until, IdleWait& idle) {
  const uint32_t seen = changes_.load(std::memory_order_relaxed);
  bool may_poll = true;
  ++polling_;
  mutex_.Unlock();
  TimePoint now = Clock::Steady().Now();
  while (changes_.load(std::memory_order_acquire) == seen && now < until &&
         may_poll) {
    for (int pauses = 0; pauses < kPausesPerLook; ++pauses) {
      Pause();
    }
    sched_yield();  // another thread that waits for this processor has it
    const TimePoint back = Clock::Steady().Now();
    may_poll = idle.Polled(now, back);
    now = back;
  }
  mutex_.Lock();
  --polling_;
}

void WorkQueue::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
    changes_.fetch_add(1, std::memory_order_release);
  }
  changed_.SignalAll();
}

}  // namespace ferry
