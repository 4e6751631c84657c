// ModelStandIn does to the machine what a model does before it answers alone:
// waits, as a request does for others, then reads a block of memory once, a
// word of each cache line, as batch size 1 reads the weights. It records how
// long each run took.
//
// A processor that idled for some ms is woken late, and reading tens of MiB
// leaves nothing of the wire's code and data in its caches: the wire after it
// is slower than that of an echo that does nothing.
//
// Thread safety: thread-safe; one at a time.
#ifndef FERRY_BENCH_MICRO_MODEL_STAND_IN_H_
#define FERRY_BENCH_MICRO_MODEL_STAND_IN_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace ferry::bench {

class ModelStandIn {
 public:
  // Without memory to read and time to wait it does nothing.
  ModelStandIn(int64_t mebibytes, Duration wait);

  void Run();

  // Microseconds of each run so far, oldest first.
  std::vector<double> runs_us() const;

 private:
  const Duration wait_;
  mutable Mutex mutex_;
  const std::vector<uint64_t> words_;
  uint64_t sum_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<double> runs_us_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_MODEL_STAND_IN_H_
