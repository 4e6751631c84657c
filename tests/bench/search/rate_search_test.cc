// Tests the search on a queue in simulated time, whose knee is found apart as
// well.
#include "bench/search/rate_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <random>
#include <utility>
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
    RateSearch search(options, loads_, time_, nullptr, 1);
    const auto found = search.Run(run_, [](const PointResult&) {});
    ceiling_ = search.client_ceiling();
    return found;
  }

  SimulatedTime time_;
  SimulatedTarget target_{time_};
  OwnLoads loads_{target_, PoissonShape(), time_};
  TimePoint free_;
  RunResult run_;
  double ceiling_ = 0;
};

// An eager batcher on one device: batches of what waits, 32 rows at most, of
// 50 ms and 2 ms a row. It can do 281 a second.
class BatchTarget final : public Target {
 public:
  explicit BatchTarget(SimulatedTime& time) : time_(time) {}

  void Send(uint64_t, Caller& caller) override {
    waiting_.push_back(&caller);
    if (under_way_.empty()) {
      Begin();
    }
  }

  void CancelAll() override {
    for (Caller* const caller : std::exchange(waiting_, {})) {
      caller->Ended(absl::StatusCode::kCancelled);
    }
  }

  static constexpr double kMost = 32 / 0.114;

 private:
  void Begin() {
    const size_t rows = std::min<size_t>(waiting_.size(), 32);
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(rows);
    under_way_.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    time_.At(time_.Now() + Milliseconds(50 + 2.0 * static_cast<double>(rows)),
             [this] {
               for (Caller* const caller : std::exchange(under_way_, {})) {
                 caller->Ended(absl::StatusCode::kOk);
               }
               if (!waiting_.empty()) {
                 Begin();
               }
             });
  }

  SimulatedTime& time_;
  std::deque<Caller*> waiting_;
  std::vector<Caller*> under_way_;
};

TEST_F(RateSearchTest, BoundLikeTheWindowFindsNoMoreThanTheDeviceCanDo) {
  for (const uint64_t seed : {1, 1000, 2000}) {
    BatchTarget device(time_);
    RateSearchOptions options;
    options.slo = {0.99, Milliseconds(1000)};
    options.search = {.first_rate = 140, .confirmations = 2};
    options.warm_up = Milliseconds(200);
    options.measured = Milliseconds(2000);
    options.seed = seed;
    OwnLoads loads(device, PoissonShape(), time_);
    RateSearch search(options, loads, time_, nullptr, 1);
    RunResult run;
    const auto found = search.Run(run, [](const PointResult&) {});
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(*found, BatchTarget::kMost * 1.01);
    EXPECT_GE(*found, BatchTarget::kMost * 0.93);
    EXPECT_GE(run.points.back().achieved_rate,
              0.98 * run.points.back().offered_rate);
    EXPECT_EQ(run.points.back().unsteady, "");
    EXPECT_GE(run.points.back().window_s, 50 - 1e-6) << "fifty times the bound";
  }
}

TEST_F(RateSearchTest, BoundFarBelowSaturation) {
  // Where a batch of few rows is all that the bound has time for.
  BatchTarget device(time_);
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(115)};
  options.search.first_rate = 140;
  options.measured = Milliseconds(100'000);
  OwnLoads loads(device, PoissonShape(), time_);
  RateSearch search(options, loads, time_, nullptr, 1);
  const auto found = search.Run(run_, [](const PointResult&) {});
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(*found, BatchTarget::kMost * 0.3);
  EXPECT_GT(*found, 10);
}

TEST_F(RateSearchTest, UnsteadyConfirmationIsMadeAgain) {
  // Latency rises from the end of each try on, until one was unsteady.
  bool rises = true;
  TimePoint since = time_.Now();
  target_.ends_at = [&](TimePoint now) {
    free_ = std::max(free_, now) + Milliseconds(kServiceMs);
    const double seconds = std::chrono::duration<double>(now - since).count();
    return free_ + Milliseconds(rises ? 0.1 * seconds : 0);
  };
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.search.first_rate = 400;
  options.measured = Milliseconds(20'000);
  RateSearch search(options, loads_, time_, nullptr, 1);
  const auto found = search.Run(run_, [&](const PointResult& point) {
    since = time_.Now();
    rises = rises && point.purpose != "confirm: unsteady";
  });
  ASSERT_TRUE(found.has_value());
  const auto unsteady = std::find_if(
      run_.points.begin(), run_.points.end(), [](const PointResult& point) {
        return point.purpose == "confirm: unsteady";
      });
  ASSERT_NE(unsteady, run_.points.end());
  EXPECT_NE(unsteady->unsteady, "");
  ASSERT_NE(std::next(unsteady), run_.points.end());
  EXPECT_EQ(std::next(unsteady)->target_rate, unsteady->target_rate);
}

TEST_F(RateSearchTest, KneeOfAQueueIsFoundWithin3Percent) {
  for (const double first : {100.0, 700.0, 3000.0}) {
    const auto found = Search(first);
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(P99Of(*found * 0.97), kBoundMs) << *found;
    EXPECT_GE(P99Of(*found * 1.03), kBoundMs) << *found;
    EXPECT_EQ(ceiling_, 0);
  }
}

// Sends as other processes do: without a word before the window's end, from a
// moment after the order on, and until one dies.
class LoadsOfOthers final : public LoadSource {
 public:
  explicit LoadsOfOthers(LoadSource& loads) : loads_(loads) {}

  Loaded RunClosed(int32_t outstanding, const LoadPlan& plan) override {
    return loads_.RunClosed(outstanding, plan);
  }
  Loaded RunOpen(double rate, uint64_t seed, const LoadPlan& plan) override {
    starts.push_back(plan.start);
    if (starts.size() > alive) {
      return absl::UnavailableError("process 2 of 2 was killed");
    }
    LoadPlan told = plan;
    told.is_decided = nullptr;
    return loads_.RunOpen(rate, seed, told);
  }
  Loaded RunOffline(uint64_t, int32_t, const LoadPlan&) override {
    return absl::UnimplementedError("no query");
  }
  void Stop() override { loads_.Stop(); }
  std::optional<LoadProgress> progress() const override {
    return loads_.progress();
  }
  Duration lead_time() const override { return Milliseconds(200); }

  std::vector<TimePoint> starts;
  size_t alive = 1000;  // loads

 private:
  LoadSource& loads_;
};

TEST_F(RateSearchTest, LoadsOfOthersTakeTheirWholeWindows) {
  LoadsOfOthers others(loads_);
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.search.first_rate = 500;
  options.measured = Milliseconds(20'000);
  RateSearch search(options, others, time_, nullptr, 1);
  const TimePoint begin = time_.Now();
  const auto found = search.Run(run_, [](const PointResult&) {});
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(P99Of(*found * 0.95), kBoundMs) << *found;
  EXPECT_GE(P99Of(*found * 1.05), kBoundMs) << *found;
  EXPECT_GE(others.starts.front() - begin, others.lead_time());
  for (const PointResult& point : run_.points) {
    EXPECT_NEAR(point.window_s, 20, 0.1) << point.purpose;
  }
}

TEST_F(RateSearchTest, WhoCannotSendAnyMoreEndsTheSearch) {
  LoadsOfOthers others(loads_);
  others.alive = 3;
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  RateSearch search(options, others, time_, nullptr, 1);
  EXPECT_FALSE(search.Run(run_, [](const PointResult&) {}).has_value());
  EXPECT_EQ(search.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(run_.points.size(), 3U) << "what was measured stays";
  EXPECT_FALSE(search.has_next());
}

TEST_F(RateSearchTest, TimeLeftIsThatOfTheTriesThatFollow) {
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.search.first_rate = 500;
  options.measured = Milliseconds(20'000);
  RateSearch search(options, loads_, time_, nullptr, 1);
  EXPECT_EQ(search.later(), UsualTime(options)) << "nothing is known yet";
  const Duration whole = options.warm_up + options.measured;
  Duration during_last = whole;
  while (search.Step(
      run_, [&](const PointResult&) { during_last = search.later(); })) {
    EXPECT_EQ(search.later() > Duration(0), search.has_next());
  }
  EXPECT_EQ(during_last, Duration(0)) << "the last confirmation";
  ASSERT_TRUE(search.found().has_value());
}

TEST_F(RateSearchTest, TriesThatEndEarlyShortenTheTimeLeft) {
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.measured = Milliseconds(60'000);
  options.search.first_rate = 100;  // far below: decided at once
  RateSearch search(options, loads_, time_, nullptr, 1);
  const Duration before = search.later();
  ASSERT_TRUE(search.Step(run_, [](const PointResult&) {}));
  const Duration whole = options.warm_up + options.measured;
  EXPECT_LT(search.later(), before - 5 * whole);
  EXPECT_GE(search.later(), whole * options.search.confirmations);
}

TEST_F(RateSearchTest, SearchOnlyAboveARateMayTakeTwoTries) {
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.search.first_rate = 5000;
  options.only_above = true;
  RateSearch search(options, loads_, time_, nullptr, 1);
  EXPECT_EQ(search.later(), 2 * (options.warm_up + options.measured));
  EXPECT_FALSE(search.Run(run_, [](const PointResult&) {}).has_value());
  EXPECT_EQ(run_.points.size(), 2U);
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

TEST_F(RateSearchTest, RateThatWasSentInTimeAfterAllIsNoCeiling) {
  target_.ends_at = [](TimePoint now) { return now + Milliseconds(1); };
  time_.oversleep = Milliseconds(2);
  RateSearchOptions options;
  options.search = {.first_rate = 100, .max_tries = 2};
  RateSearch search(options, loads_, time_, nullptr, 1);
  search.Run(run_, [&](const PointResult&) { time_.oversleep = Duration(0); });
  EXPECT_EQ(run_.points.front().purpose, "bracket: client late");
  EXPECT_EQ(run_.points.back().purpose, "bracket: met");
  EXPECT_EQ(search.client_ceiling(), 0);
}

TEST_F(RateSearchTest, ClientThatIsLateIsToldFromAServerThatIs) {
  target_.ends_at = [](TimePoint now) { return now + Milliseconds(1); };
  time_.oversleep = Milliseconds(2);
  EXPECT_FALSE(Search(100).has_value());
  EXPECT_EQ(ceiling_, 25) << "the last of three rates";
  EXPECT_EQ(run_.points.size(), 6U) << "and no lower ones";
}

TEST_F(RateSearchTest, ServerThatFallsBehindByMoreThanTheClientHolds) {
  RateSearchOptions options;
  options.slo = {0.99, Milliseconds(kBoundMs)};
  options.search.first_rate = 10'000;
  options.max_outstanding = 100;
  RateSearch search(options, loads_, time_, nullptr, 1);
  ASSERT_TRUE(search.Run(run_, [](const PointResult&) {}).has_value());
  EXPECT_EQ(search.client_ceiling(), 0) << "the server's fault";
}

}  // namespace
}  // namespace ferry::bench
