// FellBehind() tells whether a server fell behind what an open loop sent: one
// rule for the verdict of a run, for searches and for what reads results.
//
// In a steady state as many requests are under way at the window's end as at
// its begin, so as many are answered in it as are sent. By Little's law those
// are the rate times the mean latency; their number varies as a Poisson count
// does, and by itself where they are served in batches, which end as a whole. A
// queue that grows all along shows as twice its mean.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_LOAD_FALLING_BEHIND_H_
#define FERRY_BENCH_LOAD_FALLING_BEHIND_H_

#include "bench/load/load_result.h"

namespace ferry::bench {

// The share of what is sent that is to be answered in the window. What is
// missing beyond it, and not by chance, has queued up.
inline constexpr double kLeastAnsweredShare = 0.98;

// Requests of one window.
struct SentAndAnswered {
  double sent = 0;
  double answered = 0;   // within the window; a refusal is an answer
  double under_way = 0;  // on average: rate times mean latency
};

// Returns those of an open loop. What was given up is not answered.
SentAndAnswered CountAnswered(const LoadResult& load);

bool FellBehind(const SentAndAnswered& requests);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_FALLING_BEHIND_H_
