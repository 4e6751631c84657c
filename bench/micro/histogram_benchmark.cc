// Measures what counting a latency and asking for a quantile cost: the
// histograms of the scheduler and of ferry-bench, those of prometheus-cpp, and
// all values kept.
//
// The peers are not as good at the same: a Prometheus histogram of 20 buckets
// is off by a factor of two, as each is twice the one before; its summary and
// the kept values are exact or close, in memory that grows.
#include <prometheus/histogram.h>
#include <prometheus/summary.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "batcher/statistics.h"
#include "bench/load/latency_histogram.h"
#include "bench/micro/counted.h"
#include "bench/micro/latency_stream.h"

namespace ferry::bench {
namespace {

constexpr double kQuantile = 0.99;
constexpr int kRecorded = 20'000;  // before a quantile is asked for

template <int kSubBucketBits>
class Recorder {
 public:
  static constexpr double kRelativeError = 1.0 / (2 << kSubBucketBits);

  void Record(uint64_t value) { histogram_.Record(value); }
  uint64_t count() const { return histogram_.count(); }
  double Quantile() const {
    return static_cast<double>(histogram_.Quantile(kQuantile));
  }

 private:
  Histogram<kSubBucketBits> histogram_;
};
static_assert(std::is_same_v<DurationHistogram, Histogram<4>> &&
              std::is_same_v<LatencyHistogram, Histogram<7>>);

// 1 us to 0.5 s, each bucket twice the one before.
class PrometheusHistogram {
 public:
  void Record(uint64_t value) {
    histogram_.Observe(static_cast<double>(value));
  }
  uint64_t count() const { return histogram_.Collect().histogram.sample_count; }

 private:
  static prometheus::Histogram::BucketBoundaries Bounds() {
    prometheus::Histogram::BucketBoundaries bounds;
    for (int i = 0; i < 20; ++i) {
      bounds.push_back(std::ldexp(1e3, i));
    }
    return bounds;
  }

  prometheus::Histogram histogram_{Bounds()};
};

// The quantile within 0.1 % of its rank.
class PrometheusSummary {
 public:
  // Ranks 0.989 to 0.991: the largest sixteenth of a LatencyStream is spread
  // evenly, so those values differ by less than a twentieth.
  static constexpr double kRelativeError = 0.05;

  void Record(uint64_t value) { summary_.Observe(static_cast<double>(value)); }
  uint64_t count() const { return summary_.Collect().summary.sample_count; }
  double Quantile() const {
    return summary_.Collect().summary.quantile.front().value;
  }

 private:
  prometheus::Summary summary_{
      prometheus::Summary::Quantiles{{kQuantile, 0.001}}};
};

class KeptValues {
 public:
  static constexpr double kRelativeError = 0;

  void Record(uint64_t value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (values_.size() == kMost) {
      values_.clear();  // what grows for ever would measure the page faults
      dropped_ += kMost;
    }
    values_.push_back(value);
  }
  uint64_t count() const { return dropped_ + values_.size(); }
  double Quantile() const {
    std::vector<uint64_t> values;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      values = values_;
    }
    const auto rank = static_cast<ptrdiff_t>(
        std::ceil(kQuantile * static_cast<double>(values.size())) - 1);
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    return static_cast<double>(values[static_cast<size_t>(rank)]);
  }

 private:
  static constexpr size_t kMost = 1 << 20;

  mutable std::mutex mutex_;
  std::vector<uint64_t> values_;
  uint64_t dropped_ = 0;
};

template <typename R>
void BM_Record(benchmark::State& state) {
  R recorder;
  LatencyStream latencies;
  for (auto _ : state) {
    recorder.Record(latencies.Next());
  }
  Check(recorder.count() == static_cast<uint64_t>(state.iterations()),
        "every value is counted");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Record<Recorder<4>>)
    ->Name("record/histogram_4_bits")
    ->Apply(Counted);
BENCHMARK(BM_Record<Recorder<7>>)
    ->Name("record/histogram_7_bits")
    ->Apply(Counted);
BENCHMARK(BM_Record<PrometheusHistogram>)
    ->Name("record/prometheus_histogram")
    ->Apply(Counted);
BENCHMARK(BM_Record<PrometheusSummary>)
    ->Name("record/prometheus_summary")
    ->Apply(Counted);
BENCHMARK(BM_Record<KeptValues>)->Name("record/kept_values")->Apply(Counted);

// Checks the answer against the true one.
template <typename R>
void BM_Quantile(benchmark::State& state) {
  R recorder;
  KeptValues truth;
  LatencyStream latencies;
  for (int i = 0; i < kRecorded; ++i) {
    const uint64_t value = latencies.Next();
    recorder.Record(value);
    truth.Record(value);
  }
  double found = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(found = recorder.Quantile());
  }
  Check(std::abs(found / truth.Quantile() - 1) <= R::kRelativeError,
        "a quantile is as close to the true one as its kind promises");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Quantile<Recorder<4>>)
    ->Name("quantile/histogram_4_bits")
    ->Apply(Counted);
BENCHMARK(BM_Quantile<Recorder<7>>)
    ->Name("quantile/histogram_7_bits")
    ->Apply(Counted);
// Not counted: callgrind would take minutes to fill it.
BENCHMARK(BM_Quantile<PrometheusSummary>)->Name("quantile/prometheus_summary");
BENCHMARK(BM_Quantile<KeptValues>)
    ->Name("quantile/kept_values")
    ->Apply(Counted);

void BM_MergeStatistics(benchmark::State& state) {
  const BatchStatistics one(64);
  BatchStatistics sum(64);
  for (auto _ : state) {
    one.MergeInto(sum);
    benchmark::ClobberMemory();
  }
  Check(sum.ok_requests() == 0, "the sum of nothing is nothing");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_MergeStatistics)->Name("merge/batch_statistics")->Apply(Counted);

}  // namespace
}  // namespace ferry::bench
