// Implements ModelStandIn: a sleep, and one pass of sums over the block.
#include "bench/micro/model_stand_in.h"

#include <cstdlib>
#include <thread>

namespace ferry::bench {
namespace {

constexpr size_t kWordsPerLine = 8;  // of 64 bytes

}  // namespace

ModelStandIn::ModelStandIn(int64_t mebibytes, Duration wait)
    : wait_(wait), words_(static_cast<size_t>(mebibytes) << 17, uint64_t{1}) {}

void ModelStandIn::Run() {
  if (words_.empty() && wait_ == Duration(0)) return;
  const Clock& clock = Clock::Steady();
  MutexLock lock(mutex_);
  const TimePoint begin = clock.Now();
  if (wait_ > Duration(0)) {
    UsePreciseTimers();
    std::this_thread::sleep_until(begin + wait_);
  }
  if (!words_.empty()) {
    for (size_t i = 0; i < words_.size(); i += kWordsPerLine) sum_ += words_[i];
    // The sum is used, so that it is made.
    if (sum_ % (words_.size() / kWordsPerLine) != 0) std::abort();
  }
  const std::chrono::duration<double, std::micro> took = clock.Now() - begin;
  runs_us_.push_back(took.count());
}

std::vector<double> ModelStandIn::runs_us() const {
  MutexLock lock(mutex_);
  return runs_us_;
}

}  // namespace ferry::bench
