// CompareFoundRates() compares what two sides' searches for one bound found.
//
// One search each knows its rate to its precision: anywhere within it to each
// side alike. Repeats say by themselves how far answers vary, down to the steps
// of half a precision in which a search moves.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMPARE_FOUND_RATE_H_
#define FERRY_BENCH_COMPARE_FOUND_RATE_H_

#include "bench/compare/comparison.h"
#include "bench/compare/load_match.h"

namespace ferry::bench {

// Returns the metric "rate", without a verdict. REQUIRES: the match is of
// searches that found a rate, one or more of each side.
Metric CompareFoundRates(const LoadMatch& match);

// Returns the highest rate that a client of these searches could not send on
// time, requests/s: what they found may be its limit. 0: none.
double ClientCeiling(const std::vector<MeasuredPoint>& searches);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_FOUND_RATE_H_
