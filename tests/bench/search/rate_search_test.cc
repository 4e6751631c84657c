// The search on a queue in simulated time, whose knee is found apart as well.
#include "bench/search/rate_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/bench/simulated_time.h"

namespace ferry::bench {
namespace {

constexpr double kServiceMs = 1;
constexpr double kBoundMs = 8;

// The 99th percentile of a queue with one server of that service time, by
// Lindley's recursion, in ms.
double P99Of(double rate) {
  std::mt19937_64 random(99);
  std::exponential_distribution<double> gap(rate / 1e3);
  std::vector<double> latencies;
  double now = 0, free = 0;
  for (int i = 0; i < 400'000; ++i) {
    now += gap(random);
    free = std::max(free, now) + kServiceMs;
    latencies.push_back(free - now);
  }
  const auto place = latencies.begin() + 396'000;
  std::nth_element(latencies.begin(), place, latencies.end());
  return *place;
}

class RateSearchTest : public ::testing::Test {
 protected:
  RateSearchTest() {
    target_.ends_at = [this](TimePoint now) {
      free_ = std::max(free_, now) + Milliseconds(kServiceMs);
      return free_;
    };
  }

  std::optional<double> Search(double first_rate) {
    RateSearchOptions options;
    options.slo = {0.99, Milliseconds(kBoundMs)};
    options.search.first_rate = first_rate;
    options.measured = Milliseconds(60'000);
    RateSearch search(options, target_, time_, nullptr, 1);
    const auto found = search.Run(run_, [](const PointResult&) {});
    ceiling_ = search.client_ceiling();
    return found;
  }

  SimulatedTime time_;
  SimulatedTarget target_{time_};
  TimePoint free_;
  RunResult run_;
  double ceiling_ = 0;
};

TEST_F(RateSearchTest, KneeOfAQueueIsFoundWithin3Percent) {
  for (const double first : {100.0, 700.0, 3000.0}) {
    const auto found = Search(first);
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(P99Of(*found * 0.97), kBoundMs) << *found;
    EXPECT_GE(P99Of(*found * 1.03), kBoundMs) << *found;
    EXPECT_EQ(ceiling_, 0);
  }
}

TEST_F(RateSearchTest, TriesFarFromTheKneeEndEarly) {
  ASSERT_TRUE(Search(100).has_value());
  EXPECT_LT(run_.points.front().window_s, 10) << "100/s: far below";
  EXPECT_NEAR(run_.points.back().window_s, 60, 0.1) << "a confirmation";
}

TEST_F(RateSearchTest, RequestsThatFailMissTheBound) {
  target_.code = [](uint64_t number) {
    return number % 50 == 0 ? absl::StatusCode::kUnavailable
                            : absl::StatusCode::kOk;
  };
  EXPECT_FALSE(Search(100).has_value());
}

TEST_F(RateSearchTest, ClientThatIsLateIsToldFromAServerThatIs) {
  target_.ends_at = [](TimePoint now) { return now + Milliseconds(1); };
  time_.oversleep = Milliseconds(2);
  Search(100);
  EXPECT_GT(ceiling_, 0);
}

TEST_F(RateSearchTest, ServerThatFallsBehindByMoreThanTheClientHolds) {
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.search.first_rate = 10'000;
  options.max_outstanding = 100;
  RateSearch search(options, target_, time_, nullptr, 1);
  ASSERT_TRUE(search.Run(run_, [](const PointResult&) {}).has_value());
  EXPECT_EQ(search.client_ceiling(), 0) << "the server's fault";
}

}  // namespace
}  // namespace ferry::bench
