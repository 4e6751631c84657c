// Nice values of threads, as Linux has them: setpriority(2) with 0 means the
// calling thread.
#include "batcher/thread_priority.h"

#include <sys/resource.h>

#include <atomic>

namespace ferry {
namespace {

constexpr int kLeastNice = -20;

struct Nice {
  int normal = 0;
  int raised = 0;
};

std::atomic<bool> is_allowed{false};
Nice nice;  // written before is_allowed

bool Set(int value) { return setpriority(PRIO_PROCESS, 0, value) == 0; }

}  // namespace

bool AllowRaisedPriority() {
  nice.normal = getpriority(PRIO_PROCESS, 0);
  nice.raised = nice.normal - kRaisedBy < kLeastNice ? kLeastNice
                                                     : nice.normal - kRaisedBy;
  if (!Set(nice.raised)) {
    return false;
  }
  Set(nice.normal);
  is_allowed.store(true, std::memory_order_release);
  return true;
}

void RaiseThreadPriority() {
  if (is_allowed.load(std::memory_order_acquire)) {
    Set(nice.raised);
  }
}

RaisedPriority::RaisedPriority() { RaiseThreadPriority(); }

RaisedPriority::~RaisedPriority() {
  if (is_allowed.load(std::memory_order_acquire)) {
    Set(nice.normal);
  }
}

}  // namespace ferry
