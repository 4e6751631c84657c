// LatencyStream makes numbers that are spread like latencies, over many powers
// of two, at the cost of one multiplication each. The same ones each time.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_MICRO_LATENCY_STREAM_H_
#define FERRY_BENCH_MICRO_LATENCY_STREAM_H_

#include <cstdint>

namespace ferry::bench {

class LatencyStream {
 public:
  // In [0, 2^40). A linear congruential generator with Knuth's constants (MMIX)
  // chooses the power of two and the value.
  uint64_t Next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> (24 + (state_ & 15));
  }

 private:
  uint64_t state_ = 1;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_LATENCY_STREAM_H_
