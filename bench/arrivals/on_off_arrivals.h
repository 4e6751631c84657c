// OnOffArrivals switches a Poisson process on and off in turn, each for an
// exponential time (a two-state MMPP; with nothing while off an interrupted
// Poisson process).
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_ON_OFF_ARRIVALS_H_
#define FERRY_BENCH_ARRIVALS_ON_OFF_ARRIVALS_H_

#include <array>
#include <cstdint>

#include "bench/arrivals/arrival_process.h"
#include "bench/arrivals/random_stream.h"

namespace ferry::bench {

struct OnOff {
  Duration mean_on;
  Duration mean_off;
  double off_share = 0;  // rate while off / rate while on
};

class OnOffArrivals final : public ArrivalProcess {
 public:
  // `per_second` is the mean over both states. It begins in either with the
  // probability that it has in the long run. REQUIRES: per_second > 0, both
  // means > 0, 0 <= off_share <= 1.
  OnOffArrivals(double per_second, const OnOff& on_off, uint64_t seed);

 private:
  struct State {
    double mean_gap_ns;  // infinite: sends nothing
    double mean_stay_ns;
  };

  double DrawGapNs() override;
  void Enter(size_t state);

  const std::array<State, 2> states_;  // on, off
  RandomStream random_;
  size_t state_ = 0;
  double left_ns_ = 0;  // in this state
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_ON_OFF_ARRIVALS_H_
