// Implements DeferredEnds: takes all at once; under load it does not sleep.
#include "bench/local/deferred_ends.h"

#include <utility>

namespace ferry::bench {

DeferredEnds::DeferredEnds() : thread_([this] { Run(); }) {}

DeferredEnds::~DeferredEnds() {
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

void DeferredEnds::Add(Target::Caller& caller, absl::StatusCode code) {
  MutexLock lock(mutex_);
  ends_.push_back({&caller, code});
  if (sleeps_) {
    changed_.SignalOne();
  }
}

void DeferredEnds::Run() {
  std::vector<End> ends;
  while (Take(ends)) {
    for (const End& end : ends) {
      end.caller->Ended(end.code);
    }
    ends.clear();
  }
}

bool DeferredEnds::Take(std::vector<End>& ends) {
  MutexLock lock(mutex_);
  while (ends_.empty() && !is_over_) {
    sleeps_ = true;
    changed_.Wait(mutex_);
  }
  sleeps_ = false;
  std::swap(ends, ends_);
  return !ends.empty();
}

}  // namespace ferry::bench
