// Tests that intervals hold the truth as often as they say, and that runs that
// drift are found.
#include "bench/load/batch_means.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

constexpr double kMeanMs = 10;

// An open loop of 30 slices of 1 s whose latencies are exponential, and whose
// mean goes up by `drift_ms`.
std::unique_ptr<LoadResult> MakeRun(unsigned seed, int per_slice,
                                    double drift_ms = 0) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> latency(1);
  auto load = std::make_unique<LoadResult>();
  load->is_open = true;
  load->slices.resize(30);
  load->slice = std::chrono::seconds(1);
  load->window = std::chrono::seconds(30);
  for (size_t i = 0; i < 30; ++i) {
    for (int call = 0; call < per_slice; ++call) {
      const double ms =
          kMeanMs * latency(random) + drift_ms * static_cast<double>(i) / 29;
      RecordLatency(load->latency, Milliseconds(ms));
      RecordLatency(load->slices[i].latency, Milliseconds(ms));
      ++load->slices[i].planned;
      ++load->planned;
      ++load->ended[0];
      ++load->ok_in_window;
    }
  }
  return load;
}

bool Holds(const std::optional<Interval>& interval, double ms) {
  EXPECT_TRUE(interval.has_value());
  return interval->low_us <= ms * 1e3 && ms * 1e3 <= interval->high_us;
}

TEST(BatchMeansTest, IntervalsHoldTheTruthIn95OfAHundredRuns) {
  int mean = 0, median = 0, p99 = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto load = MakeRun(seed, 1000);
    mean += Holds(MeanInterval(*load), kMeanMs) ? 1 : 0;
    median +=
        Holds(QuantileInterval(*load, 0.5), kMeanMs * std::log(2)) ? 1 : 0;
    p99 +=
        Holds(QuantileInterval(*load, 0.99), kMeanMs * std::log(100)) ? 1 : 0;
  }
  for (const int held : {mean, median, p99}) {
    EXPECT_GE(held, 88);
    EXPECT_LE(held, 99);
  }
}

// Latencies of which each is 0.98 of the one before and the rest drawn anew:
// the mean of 30,000 is as sure as that of 303 apart, which an interval that
// took them as independent would miss.
TEST(BatchMeansTest, LatenciesThatAreAlikeWidenTheInterval) {
  int held = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> drawn(0, std::sqrt(1 - 0.98 * 0.98));
    auto load = MakeRun(seed, 0);
    double state = 0;
    for (LoadSlice& slice : load->slices) {
      for (int call = 0; call < 1000; ++call) {
        state = 0.98 * state + drawn(random);
        const Duration latency = Milliseconds(kMeanMs + state);
        RecordLatency(load->latency, latency);
        RecordLatency(slice.latency, latency);
      }
    }
    const auto interval = MeanInterval(*load);
    held += Holds(interval, kMeanMs) ? 1 : 0;
    EXPECT_GT(interval->high_us - interval->low_us, 2 * 3 * 1e3 / 173)
        << "three deviations of 30,000 independent ones";
  }
  EXPECT_GE(held, 85);
}

TEST(BatchMeansTest, SlicesAreJoinedUntilEachHasEnough) {
  // 400 a slice: three make one batch of over 1000, and so ten batches.
  const auto load = MakeRun(1, 400);
  EXPECT_TRUE(QuantileInterval(*load, 0.99).has_value());
  EXPECT_FALSE(QuantileInterval(*load, 0.999).has_value());
  EXPECT_FALSE(QuantileInterval(*MakeRun(1, 300), 0.99).has_value());
  EXPECT_FALSE(MeanInterval(*std::make_unique<LoadResult>()).has_value());
}

TEST(BatchMeansTest, PercentileTakesTenAboveIt) {
  EXPECT_EQ(SamplesFor(0.5), 20U);
  EXPECT_EQ(SamplesFor(0.99), 1000U);
  EXPECT_EQ(SamplesFor(0.999), 10'000U);
}

TEST(BatchMeansTest, DriftOfTheMedianIsUnsteady) {
  EXPECT_EQ(Unsteadiness(*MakeRun(1, 1000)), "");
  EXPECT_THAT(Unsteadiness(*MakeRun(1, 1000, 4)),
              HasSubstr("the median latency went up by"));
  EXPECT_EQ(Unsteadiness(*MakeRun(1, 1000, 0.5)), "")
      << "less than a fifth of the median";
  auto decided = MakeRun(1, 1000, 4);
  decided->is_decided = true;
  EXPECT_EQ(Unsteadiness(*decided), "") << "it was cut short on purpose";
}

TEST(BatchMeansTest, FewNoisySlicesAreNoDrift) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(Unsteadiness(*MakeRun(seed, 10)), "") << seed;
  }
}

TEST(BatchMeansTest, AnswersThatFallBehindAreUnsteady) {
  auto load = MakeRun(1, 1000);
  load->is_open = false;
  load->ok_in_window = 25'000;
  EXPECT_EQ(Unsteadiness(*load), "") << "a closed loop sends what it can";
  load->is_open = true;
  EXPECT_THAT(Unsteadiness(*load), HasSubstr("1000/s were sent and 833/s"));
}

// A closed loop of 30 slices of 1 s with so many requests each, of one latency.
std::unique_ptr<LoadResult> MakeClosedLoop(const std::vector<int>& of_slices,
                                           double latency_ms = 10) {
  auto load = std::make_unique<LoadResult>();
  load->slices.resize(of_slices.size());
  load->slice = std::chrono::seconds(1);
  load->window = load->slice * static_cast<int>(of_slices.size());
  for (size_t i = 0; i < of_slices.size(); ++i) {
    for (int call = 0; call < of_slices[i]; ++call) {
      RecordLatency(load->latency, Milliseconds(latency_ms));
      RecordLatency(load->slices[i].latency, Milliseconds(latency_ms));
      ++load->slices[i].planned;
      ++load->planned;
      ++load->ended[0];
      ++load->ok_in_window;
    }
  }
  return load;
}

TEST(BatchMeansTest, AClosedLoopWhoseRateDriftsIsUnsteady) {
  std::vector<int> of_slices;
  for (int i = 0; i < 30; ++i) {
    // Half of them from the middle on, as of a server that pauses now and then.
    of_slices.push_back((i < 15 ? 200 : 100) + (i % 3 == 0 ? 16 : 0));
  }
  EXPECT_THAT(Unsteadiness(*MakeClosedLoop(of_slices)),
              HasSubstr("the rate went down by"));
  std::reverse(of_slices.begin(), of_slices.end());
  EXPECT_THAT(Unsteadiness(*MakeClosedLoop(of_slices)),
              HasSubstr("the rate went up by"));
  auto decided = MakeClosedLoop(of_slices);
  decided->is_decided = true;
  EXPECT_EQ(Unsteadiness(*decided), "");
  auto query = MakeClosedLoop(of_slices);
  query->is_offline = true;
  EXPECT_EQ(Unsteadiness(*query), "") << "it has one rate, of its whole";
}

TEST(BatchMeansTest, AClosedLoopWhoseMedianDriftsIsUnsteady) {
  auto load = MakeRun(1, 1000, 4);
  load->is_open = false;
  EXPECT_THAT(Unsteadiness(*load), HasSubstr("the median latency went up by"));
}

TEST(BatchMeansTest, ASteadyClosedLoopIsSteady) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::poisson_distribution<int> count(seed % 2 == 0 ? 1 : 300);
    std::vector<int> of_slices(30);
    for (int& one : of_slices) {
      one = count(random);
    }
    EXPECT_EQ(Unsteadiness(*MakeClosedLoop(of_slices)), "") << seed;
  }
  // In batches of 64, of which a slice holds one or two.
  std::vector<int> of_slices;
  for (int i = 0; i < 30; ++i) {
    of_slices.push_back(i % 3 == 0 ? 128 : 64);
  }
  EXPECT_EQ(Unsteadiness(*MakeClosedLoop(of_slices)), "");
}

TEST(BatchMeansTest, SlicesAfterAnEarlyEndAreNoDrift) {
  std::vector<int> of_slices(30, 0);
  std::fill(of_slices.begin(), of_slices.begin() + 17, 200);
  auto load = MakeClosedLoop(of_slices);
  EXPECT_THAT(Unsteadiness(*load), HasSubstr("the rate went down"))
      << "it stopped to answer";
  load->interrupted = true;
  load->window = Milliseconds(17'400);
  EXPECT_EQ(Unsteadiness(*load), "") << "it was cut short";
}

}  // namespace
}  // namespace ferry::bench
