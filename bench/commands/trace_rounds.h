// DescribeRounds() says how much of a trace the points of a sweep play.
//
// One round of a trace is each of its arrivals once. A measured window of whole
// rounds holds each equally often, wherever in the trace its warm-up ends.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMMANDS_TRACE_ROUNDS_H_
#define FERRY_BENCH_COMMANDS_TRACE_ROUNDS_H_

#include <string>
#include <vector>

#include "bench/search/sweep.h"

namespace ferry::bench {

// Returns the seconds of so many whole rounds at the trace's own rate, one at
// least, as last `least_s` or longer. REQUIRES: the arrivals are a trace.
double WholeRoundsSecs(const SweepOptions& sweep, double least_s);

// Returns a line for each open loop at a rate that is known: how much of the
// trace it plays and measures. Empty where the arrivals are no trace.
std::vector<std::string> DescribeRounds(const SweepOptions& sweep);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_TRACE_ROUNDS_H_
