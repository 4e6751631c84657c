// Counted() marks a micro-benchmark whose instructions say what it costs;
// main() is in micro_main.cc.
//
// A benchmark is named "operation/contestant", with "/size" where it has one:
// those of one operation do the same work, and scripts/show.sh micro compares
// them. Each checks what it has done, once and outside of its timed loop.
//
// Thread safety: free function; called before main().
#ifndef FERRY_BENCH_MICRO_COUNTED_H_
#define FERRY_BENCH_MICRO_COUNTED_H_

#include <benchmark/benchmark.h>

namespace ferry::bench {

// For ->Apply(): the benchmark has one thread and does not wait, so that its
// instructions say what it costs. --iterations N holds for those alone.
void Counted(benchmark::internal::Benchmark* benchmark);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_MICRO_COUNTED_H_
