// Implements the priorities of threads: sets nice values and policies, where 0
// means the calling thread in setpriority(2) and sched_setscheduler(2).
#include "base/thread_priority.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

namespace ferry {
namespace {

constexpr int kLeastNice = -20;

std::atomic<bool> is_allowed{false};
// Written before is_allowed.
int normal_nice = 0;
int raised_nice = 0;

bool SetNice(int value) { return setpriority(PRIO_PROCESS, 0, value) == 0; }

}  // namespace

bool AllowRaisedPriority() {
  normal_nice = getpriority(PRIO_PROCESS, 0);
  raised_nice = std::max(normal_nice - kRaisedBy, kLeastNice);
  if (!SetNice(raised_nice)) {
    return false;
  }
  SetNice(normal_nice);
  is_allowed.store(true, std::memory_order_release);
  return true;
}

void RaiseThreadPriority() {
  if (is_allowed.load(std::memory_order_acquire)) {
    SetNice(raised_nice);
  }
}

void UseBatcherPriority() {
  if (sched_getscheduler(0) == SCHED_OTHER) {
    const sched_param none = {};
    sched_setscheduler(0, SCHED_BATCH, &none);  // keeps the nice value
  }
  RaiseThreadPriority();
}

}  // namespace ferry
