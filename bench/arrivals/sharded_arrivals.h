// ShardedArrivals takes every n-th arrival of another process. The shards of
// one plan, each with the same arrivals and an index of its own, send together
// just what one sender would, whatever the plan's kind and their number.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_SHARDED_ARRIVALS_H_
#define FERRY_BENCH_ARRIVALS_SHARDED_ARRIVALS_H_

#include <cstdint>
#include <memory>

#include "bench/arrivals/arrival_process.h"

namespace ferry::bench {

class ShardedArrivals final : public ArrivalProcess {
 public:
  // Keeps the arrivals index, index + count, index + 2 count, ... of `all`.
  // REQUIRES: 0 <= index < count.
  ShardedArrivals(std::unique_ptr<ArrivalProcess> all, int32_t index,
                  int32_t count);

 private:
  double DrawGapNs() override;

  const std::unique_ptr<ArrivalProcess> all_;
  const int32_t count_;
  int32_t next_;  // of so many gaps the next one is the sum
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_SHARDED_ARRIVALS_H_
