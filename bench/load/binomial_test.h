// TestShare() tells whether a share of requests is met as early as the counts
// allow: the early-stopping test of MLPerf Inference (inference_rules.adoc,
// "early stopping criterion", without slack).
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_LOAD_BINOMIAL_TEST_H_
#define FERRY_BENCH_LOAD_BINOMIAL_TEST_H_

#include <cstdint>

namespace ferry::bench {

// Returns P(X <= k) of a binomial X with n trials of probability p.
// REQUIRES: 0 < p < 1, k <= n.
double BinomialCdf(uint64_t k, uint64_t n, double p);

enum class ShareVerdict : uint8_t { kUndecided, kMet, kMissed };

// `over`: of `n` requests, those that missed the bound; `allowed`: the share
// that may. kMet where so few would be so unlikely, had more than that share
// missed it; kMissed where so many would. With 99 % of confidence and 1 %
// allowed kMet takes 459 requests at least. It takes requests as independent,
// which those of a queue are not: give it a run that is long against the queue.
ShareVerdict TestShare(uint64_t over, uint64_t n, double allowed,
                       double confidence = 0.99);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_BINOMIAL_TEST_H_
