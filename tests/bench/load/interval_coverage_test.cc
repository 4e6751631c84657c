// Tests how often intervals hold the truth, on an exact simulation of an eager
// batcher near its saturation, event by event. Seeded: counts, no times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "bench/load/batch_means.h"

namespace ferry::bench {
namespace {

// One device: a batch of b rows takes alpha + beta b.
struct Device {
  double alpha_ms = 5;
  double beta_ms = 0.2;
  size_t max_batch_size = 64;

  double saturation() const {  // requests/s
    const auto rows = static_cast<double>(max_batch_size);
    return rows / (alpha_ms + beta_ms * rows) * 1e3;
  }
};

constexpr double kWarmUpMs = 2000;

// Poisson arrivals at `rate`, each batch of those that wait when the device is
// free. What came after the warm-up, in 30 slices.
std::unique_ptr<LoadResult> Simulate(const Device& device, double rate,
                                     double seconds, unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(rate / 1e3);
  auto load = std::make_unique<LoadResult>();
  load->is_open = true;
  load->slices.resize(30);
  load->window = Milliseconds(seconds * 1e3);
  load->slice = load->window / 30;
  const double end_ms = kWarmUpMs + seconds * 1e3;
  std::vector<double> waiting;
  double next_ms = gap(random);
  double free_ms = 0;
  while (next_ms < end_ms) {
    const double begin_ms =
        std::max(free_ms, waiting.empty() ? next_ms : waiting.front());
    for (; next_ms <= begin_ms; next_ms += gap(random)) {
      waiting.push_back(next_ms);
    }
    const size_t rows = std::min(waiting.size(), device.max_batch_size);
    free_ms =
        begin_ms + device.alpha_ms + device.beta_ms * static_cast<double>(rows);
    for (size_t i = 0; i < rows; ++i) {
      const double at_ms = waiting[i] - kWarmUpMs;
      if (at_ms >= 0 && waiting[i] < end_ms) {
        const Duration latency = Milliseconds(free_ms - waiting[i]);
        const auto slice = static_cast<size_t>(at_ms / seconds / 1e3 * 30);
        RecordLatency(load->latency, latency);
        RecordLatency(load->slices[std::min<size_t>(slice, 29)].latency,
                      latency);
      }
    }
    waiting.erase(waiting.begin(),
                  waiting.begin() + static_cast<ptrdiff_t>(rows));
  }
  return load;
}

struct Truth {
  double mean_us = 0;
  double p50_us = 0;
  double p99_us = 0;
};

// By a run that is 60 times as long as one that is judged.
Truth TruthOf(const Device& device, double rate, double seconds) {
  const auto load = Simulate(device, rate, 60 * seconds, 1'000'000);
  return {load->latency.mean() / 1e3,
          static_cast<double>(load->latency.Quantile(0.5)) / 1e3,
          static_cast<double>(load->latency.Quantile(0.99)) / 1e3};
}

// Counts over a hundred runs.
struct Coverage {
  int told = 0;                     // that have an interval
  int held = 0;                     // whose interval holds the truth
  std::vector<double> widths = {};  // over the truth

  void Add(const std::optional<Interval>& interval, double truth_us) {
    if (!interval.has_value()) {
      return;
    }
    ++told;
    held +=
        interval->low_us <= truth_us && truth_us <= interval->high_us ? 1 : 0;
    widths.push_back((interval->high_us - interval->low_us) / truth_us);
  }
  double MedianWidth() {
    std::nth_element(widths.begin(),
                     widths.begin() + static_cast<ptrdiff_t>(widths.size() / 2),
                     widths.end());
    return widths[widths.size() / 2];
  }
};

struct Coverages {
  Coverage mean;
  Coverage p50;
  Coverage p99;
};

Coverages Judge(const Device& device, double share, double seconds) {
  const double rate = share * device.saturation();
  const Truth truth = TruthOf(device, rate, seconds);
  Coverages of;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto load = Simulate(device, rate, seconds, seed);
    of.mean.Add(MeanInterval(*load), truth.mean_us);
    of.p50.Add(QuantileInterval(*load, 0.5), truth.p50_us);
    of.p99.Add(QuantileInterval(*load, 0.99), truth.p99_us);
  }
  // In the report of --gtest_output: what docs/bench.md has.
  ::testing::Test::RecordProperty("mean_held", of.mean.held);
  ::testing::Test::RecordProperty("p50_held", of.p50.held);
  ::testing::Test::RecordProperty("p99_held", of.p99.held);
  return of;
}

TEST(IntervalCoverageTest, HalfLoadedTheyHoldTheTruthAsTheySay) {
  Coverages of = Judge(Device(), 0.5, 10);
  for (Coverage* const coverage : {&of.mean, &of.p50, &of.p99}) {
    EXPECT_EQ(coverage->told, 100);
    EXPECT_GE(coverage->held, 90);
  }
}

TEST(IntervalCoverageTest, At92PercentOfSaturationTheyHoldTheTruth) {
  Coverages of = Judge(Device(), 0.92, 10);
  for (Coverage* const coverage : {&of.mean, &of.p50, &of.p99}) {
    EXPECT_EQ(coverage->told, 100);
    EXPECT_GE(coverage->held, 90);
  }
  EXPECT_LE(of.mean.MedianWidth(), 0.1) << "not by being of no use";
  EXPECT_LE(of.p50.MedianWidth(), 0.1);
  EXPECT_LE(of.p99.MedianWidth(), 0.3);
}

// What docs/bench.md says of windows that are short there.
TEST(IntervalCoverageTest, At97PercentOfSaturationTheyHoldItLessOften) {
  const Coverages of = Judge(Device(), 0.97, 10);
  EXPECT_GE(of.mean.held, 80);
  EXPECT_GE(of.p50.held, 80);
  EXPECT_GE(of.p99.held, 75);
}

TEST(IntervalCoverageTest, AWindowThatIsShortAgainstTheLatencyHasNone) {
  const Device slow = {.alpha_ms = 500, .beta_ms = 0.1};
  const auto load = Simulate(slow, 50, 30, 1);
  ASSERT_GT(load->latency.Quantile(0.99), 300'000'000U);
  EXPECT_FALSE(MeanInterval(*load).has_value());
  EXPECT_FALSE(QuantileInterval(*load, 0.5).has_value());
  const auto longer = Simulate(slow, 50, 150, 1);
  EXPECT_TRUE(MeanInterval(*longer).has_value());
}

}  // namespace
}  // namespace ferry::bench
