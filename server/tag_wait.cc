// Polling, then asleep.
#include "server/tag_wait.h"

#include <sched.h>

namespace ferry {

bool TagWait::Next(void*& tag, bool& ok) {
  if (!idle_.is_after_work()) {
    return queue_.Next(&tag, &ok);  // each tag would pay for the time
  }
  TimePoint now = Clock::Steady().Now();
  while (idle_.Next(now, kNever).polls) {
    if (const Look look = TryNext(tag, ok); look != Look::TIMEOUT) {
      return look == Look::GOT_EVENT;
    }
    sched_yield();  // another thread that waits for this processor has it
    const TimePoint back = Clock::Steady().Now();
    idle_.Polled(now, back);
    now = back;
  }
  return queue_.Next(&tag, &ok);
}

}  // namespace ferry
