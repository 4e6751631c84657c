// Implements LoadGenerator's query: sends all of it, and waits for the answers.
#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "bench/load/load_generator.h"

namespace ferry::bench {
namespace {

constexpr Duration kLookForAnswers = std::chrono::milliseconds(1);
// A query has no end but its last answer: a year.
constexpr Duration kWithoutEnd = std::chrono::hours(24 * 365);

}  // namespace

std::unique_ptr<LoadResult> LoadGenerator::RunOffline(uint64_t calls,
                                                      int32_t outstanding,
                                                      const LoadPlan& plan) {
  Check(calls >= 1 && outstanding >= 1, "a query has a call");
  LoadPlan whole = plan;
  whole.warm_up = Duration::zero();
  whole.measured = kWithoutEnd;
  whole.slices = 0;
  whole.is_decided = nullptr;
  const auto at_once = static_cast<int32_t>(
      std::min<uint64_t>(calls, static_cast<uint64_t>(outstanding)));
  Begin(Loop::kOffline, at_once, whole);
  left_of_query_.store(static_cast<int64_t>(calls), std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    query_ = calls;
  }
  if (SleepUntil(plan_.start)) {
    {
      MutexLock lock(mutex_);
      plan_.start = last_answer_ = pacer_.Now();
    }
    for (const auto& call : calls_) {
      if (!TakeOfQuery()) {
        break;  // those before it have sent all
      }
      {
        MutexLock lock(mutex_);
        idle_.pop_back();
      }
      SendPlanned(*call, plan_.start);
    }
    AwaitAnswers();
    if (!stopped_.load(std::memory_order_relaxed)) {
      plan_.drain_limit = Duration::zero();  // it has been waited for
    }
  }
  return End();
}

// Returns once all calls have ended, it is stopped, or none has ended for the
// plan's limit.
void LoadGenerator::AwaitAnswers() {
  TimePoint last;
  TimePoint now;
  do {
    pacer_.SleepUntil(pacer_.Now() + kLookForAnswers);
    now = pacer_.Now();
    MutexLock lock(mutex_);
    last = last_answer_;
  } while (outstanding() > 0 && !stopped_.load(std::memory_order_relaxed) &&
           now - last <= plan_.drain_limit);
}

}  // namespace ferry::bench
