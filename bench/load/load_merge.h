// Merge() joins what several generators measured in one window to what one
// generator would have measured that sent all of it: histograms bucket by
// bucket, counts added.
//
// Thread safety: a free function over values.
#ifndef FERRY_BENCH_LOAD_LOAD_MERGE_H_
#define FERRY_BENCH_LOAD_LOAD_MERGE_H_

#include "bench/load/load_result.h"

namespace ferry::bench {

// Adds `other` to `load`. The window is the longer of the two, where one was
// ended early. Stamps are in the order in which their requests ended.
// REQUIRES: both are of the same loop, window begin, classes and slices.
void Merge(const LoadResult& other, LoadResult& load);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_LOAD_LOAD_MERGE_H_
