// RandomStream draws from distributions by algorithms of its own, so that a
// seed gives the same numbers with any standard library: std::mt19937_64 is
// fixed by the standard, std::gamma_distribution and its like are not.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_RANDOM_STREAM_H_
#define FERRY_BENCH_ARRIVALS_RANDOM_STREAM_H_

#include <cstdint>
#include <random>

namespace ferry::bench {

class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : random_(seed) {}

  // In (0, 1], in steps of 2^-53: its logarithm is finite.
  double Uniform();

  // Mean 1.
  double Exponential();

  // Mean 0, variance 1.
  double Normal();

  // Mean and variance `shape`. REQUIRES: shape > 0.
  double Gamma(double shape);

  // >= 1: trials until the first that succeeds with probability 1 / mean.
  // REQUIRES: 1 <= mean <= 1e15.
  int64_t Geometric(double mean);

 private:
  std::mt19937_64 random_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_RANDOM_STREAM_H_
