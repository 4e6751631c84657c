// MemoryReader reads a block of memory once from end to end, as a model reads
// its weights at batch size 1, and records how long each reading took.
//
// A model that reads tens of MiB leaves nothing of the wire's code and data in
// the caches near the core, and the other cores idle meanwhile: the wire after
// it is slower than the wire of an echo that does nothing.
//
// Thread safety: thread-safe; one reading at a time.
#ifndef FERRY_BENCH_MICRO_MEMORY_READER_H_
#define FERRY_BENCH_MICRO_MEMORY_READER_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "batcher/clock.h"
#include "batcher/mutex.h"

namespace ferry::bench {

class MemoryReader {
 public:
  // 0: reads nothing.
  explicit MemoryReader(int64_t mebibytes);

  void Read();

  // Mean microseconds of the readings so far; 0 where there were none.
  double mean_us() const;

 private:
  mutable Mutex mutex_;
  const std::vector<uint64_t> words_;
  uint64_t sum_ ABSL_GUARDED_BY(mutex_) = 0;
  Duration spent_ ABSL_GUARDED_BY(mutex_){0};
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_MEMORY_READER_H_
