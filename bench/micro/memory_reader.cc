// One pass of sums over the block.
#include "bench/micro/memory_reader.h"

#include <cstdlib>
#include <numeric>

namespace ferry::bench {

MemoryReader::MemoryReader(int64_t mebibytes)
    : words_(static_cast<size_t>(mebibytes) << 17, uint64_t{1}) {}

void MemoryReader::Read() {
  if (words_.empty()) return;
  const Clock& clock = Clock::Steady();
  MutexLock lock(mutex_);
  const TimePoint begin = clock.Now();
  sum_ += std::accumulate(words_.begin(), words_.end(), uint64_t{0});
  spent_ += clock.Now() - begin;
  ++count_;
  // The sum is used, so that it is made.
  if (sum_ % words_.size() != 0) std::abort();
}

double MemoryReader::mean_us() const {
  MutexLock lock(mutex_);
  return count_ == 0 ? 0
                     : static_cast<double>(spent_.count()) / 1e3 /
                           static_cast<double>(count_);
}

}  // namespace ferry::bench
