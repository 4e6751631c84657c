// What the stepper pays beside the queue: a policy's decision, counting
// a value, summing the statistics for a reader.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "batcher/batch_policy.h"
#include "batcher/histogram.h"
#include "batcher/statistics.h"
#include "bench/load/latency_histogram.h"

namespace ferry::bench {
namespace {

void BM_Decide(benchmark::State& state, PolicyKind kind) {
  const BatchPolicy& policy = GetPolicy(kind);
  QueueState queue;
  queue.max_batch_size = 64;
  queue.max_wait = Milliseconds(5);
  queue.oldest_arrival = FromNanos(1);
  LaneState lanes;
  const Forecast forecast = {.rows_per_ns = 5e-6,
                             .service = {.alpha_ns = 4e6, .beta_ns = 2e4}};
  int32_t turn = 0;
  for (auto _ : state) {
    queue.rows = ++turn & 63;
    lanes.free_slots = turn & 1;
    benchmark::DoNotOptimize(
        policy.Decide(queue, lanes, forecast, FromNanos(turn & 0xFFFF)));
  }
}
BENCHMARK_CAPTURE(BM_Decide, eager, PolicyKind::kEager);
BENCHMARK_CAPTURE(BM_Decide, window, PolicyKind::kWindow);
BENCHMARK_CAPTURE(BM_Decide, adaptive, PolicyKind::kAdaptive);

template <typename H>
void BM_Record(benchmark::State& state) {
  H histogram;
  uint64_t value = 1;
  for (auto _ : state) {
    // Spread over many powers of two, as latencies are.
    value = value * 6364136223846793005U + 1442695040888963407U;
    histogram.Record(value >> (24 + (value & 15)));
  }
  benchmark::DoNotOptimize(histogram.count());
}
BENCHMARK(BM_Record<DurationHistogram>)->Name("record/4_bits");
BENCHMARK(BM_Record<LatencyHistogram>)->Name("record/7_bits");

void BM_Quantile(benchmark::State& state) {
  LatencyHistogram histogram;
  for (uint64_t i = 1; i < 100000; ++i) {
    histogram.Record(i * 100);
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(histogram.Quantile(0.99));
  }
}
BENCHMARK(BM_Quantile)->Name("quantile/7_bits");

void BM_MergeStatistics(benchmark::State& state) {
  const BatchStatistics one(64);
  BatchStatistics sum(64);
  for (auto _ : state) {
    one.MergeInto(sum);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_MergeStatistics)->Name("statistics/merge_one_batch");

}  // namespace
}  // namespace ferry::bench

BENCHMARK_MAIN();
