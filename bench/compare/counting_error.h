// WithCounting() widens a difference's error by what counting leaves unsure.
//
//   percentiles  lie in buckets of a histogram, 0.4 % to each side. Repeats
//   that
//                lie in one bucket do not average that out: it is added once
//                for each side
//   rates, rows  a request more or less at the ends of a window
//   errors       so many failures of so many requests vary by chance: at least
//                as a binomial count, by the share of A and B together, as in
//                the z test of two proportions. J. L. Fleiss, Statistical
//                Methods for Rates and Proportions
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMPARE_COUNTING_ERROR_H_
#define FERRY_BENCH_COMPARE_COUNTING_ERROR_H_

#include "bench/compare/load_match.h"
#include "bench/compare/point_metrics.h"

namespace ferry::bench {

// Returns the standard error of the difference, of which `error` is what the
// values vary by.
double WithCounting(const LoadMatch& match, const MetricKind& kind,
                    double error);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_COUNTING_ERROR_H_
