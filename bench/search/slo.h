// Slo says what is asked of a server; Keeps() says whether a load met it.
//
// Thread safety: plain values; functions of them.
#ifndef FERRY_BENCH_SEARCH_SLO_H_
#define FERRY_BENCH_SEARCH_SLO_H_

#include <cstdint>

#include "base/clock.h"
#include "bench/load/binomial_test.h"
#include "bench/load/load_result.h"

namespace ferry::bench {

// That `quantile` of all requests are answered with OK within `latency` of
// their planned send, and `success` of all with OK at all: below the quantile,
// which asks for as much, it asks for nothing more.
struct Slo {
  double quantile = 0.99;
  Duration latency = Milliseconds(50);
  double success = 0;  // share, at most 1
};

// The requests of a load that an Slo holds against it.
struct SloCounts {
  uint64_t planned = 0;
  uint64_t missed = 0;  // were not answered with OK within the latency
  uint64_t failed = 0;  // were not answered with OK

  SloCounts& operator+=(const SloCounts& other);
};

// Counts what has ended, where a load is under way.
SloCounts CountAgainst(const LoadResult& load, const Slo& slo);

// Whether both shares are within what is asked.
bool Keeps(const SloCounts& counts, const Slo& slo);

// Whether that is sure, by TestShare() of both: kMissed where one is missed,
// kMet where both are met.
ShareVerdict TestSlo(const SloCounts& counts, const Slo& slo,
                     double confidence);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SEARCH_SLO_H_
