// Tests searches in turns: when each is tried, and two that are alike.
#include "bench/search/search_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/search/tuner.h"
#include "tests/bench/simulated_time.h"

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

class SearchTurnsTest : public ::testing::Test {
 protected:
  // A queue whose service time, in ms, is what is set.
  SearchTurnsTest() {
    target_.ends_at = [this](TimePoint now) {
      free_ = std::max(free_, now) + Milliseconds(service_ms_);
      return free_;
    };
  }

  static RateSearchOptions Options(double first_rate) {
    RateSearchOptions options;
    options.slo = {0.99, Milliseconds(12)};
    options.search.first_rate = first_rate;
    options.measured = Milliseconds(20'000);
    return options;
  }

  absl::Status Set(double service_ms) {
    service_ms_ = service_ms;
    set_.push_back(service_ms);
    return status_;
  }

  // Confirms in turns, from the rates of the settings on.
  absl::Status Confirm(std::vector<TunedSetting>& settings) {
    std::vector<std::unique_ptr<RateSearch>> searches;
    std::vector<RunResult> runs(settings.size());
    std::vector<TurnOfSearch> turns;
    for (size_t i = 0; i < settings.size(); ++i) {
      RateSearchOptions options = Options(*settings[i].rate);
      options.search.growth = 1.1;
      searches.push_back(
          std::make_unique<RateSearch>(options, loads_, time_, nullptr, 1));
      turns.push_back({.begin =
                           [this, wait = settings[i].setting.max_wait_ms] {
                             return Set(wait);
                           },
                       .search = searches.back().get(),
                       .run = &runs[i]});
    }
    const absl::Status status = SearchInTurns(turns, [](const PointResult&) {});
    for (size_t i = 0; i < settings.size(); ++i) {
      settings[i].rate = searches[i]->found();
      tries_.push_back(runs[i].points.size());
    }
    return status;
  }

  // Tunes settings whose waits are service times.
  TuneResult Tune(const std::vector<double>& service_ms) {
    std::vector<RuntimeSetting> settings;
    for (size_t i = 0; i < service_ms.size(); ++i) {
      settings.push_back(
          {"window", static_cast<int32_t>(i) + 1, service_ms[i]});
    }
    Tuner tuner(
        kPrecision,
        [this](const RuntimeSetting& setting) {
          return Set(setting.max_wait_ms);
        },
        [this](Tuner::Search kind, double first_rate) {
          RateSearchOptions options =
              Options(first_rate == 0 ? 300 : first_rate);
          options.search.precision = kPrecision.coarse;
          options.search.confirmations = 1;
          options.only_above = kind == Tuner::Search::kOnlyAbove;
          RateSearch search(options, loads_, time_, nullptr, 1);
          RunResult run;
          return search.Run(run, [](const PointResult&) {});
        },
        [this](std::vector<TunedSetting>& finalists) {
          return Confirm(finalists);
        },
        [] { return false; });
    TuneResult result;
    EXPECT_TRUE(tuner.Run(settings, result).ok());
    return result;
  }

  static constexpr TunePrecision kPrecision{};

  SimulatedTime time_;
  SimulatedTarget target_{time_};
  OwnLoads loads_{target_, PoissonShape(), time_};
  TimePoint free_;
  double service_ms_ = 1;
  absl::Status status_;
  std::vector<double> set_;    // in order
  std::vector<size_t> tries_;  // of each that was confirmed
};

TEST_F(SearchTurnsTest, EachIsAskedInTurnUntilItHasEnded) {
  std::vector<TunedSetting> settings = {
      {.setting = {"window", 1, 1.0}, .rate = 850},
      {.setting = {"window", 2, 2.0}, .rate = 100}};
  ASSERT_TRUE(Confirm(settings).ok());
  ASSERT_TRUE(settings[0].rate.has_value() && settings[1].rate.has_value());
  EXPECT_GT(*settings[0].rate, 1.8 * *settings[1].rate);
  const size_t both = 2 * std::min(tries_[0], tries_[1]);
  ASSERT_GE(both, 10U);
  for (size_t i = 0; i < set_.size(); ++i) {
    EXPECT_EQ(set_[i], i < both ? 1 + static_cast<double>(i % 2) : 2) << i;
  }
  EXPECT_EQ(set_.size(), tries_[0] + tries_[1]);
}

TEST_F(SearchTurnsTest, ConditionThatCannotBeSetEndsIt) {
  status_ = absl::UnavailableError("no runtime options");
  std::vector<TunedSetting> settings = {
      {.setting = {"window", 1, 1.0}, .rate = 850}};
  EXPECT_THAT(std::string(Confirm(settings).message()),
              HasSubstr("no runtime options"));
  EXPECT_EQ(tries_.front(), 0U);
}

TEST_F(SearchTurnsTest, TuneOfEqualSettingsSaysSo) {
  const TuneResult result = Tune({1, 1, 1});
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->setting.max_batch_size, 1) << "as it was";
  EXPECT_THAT(DescribeAnswer(result, kPrecision, "p99 <= 12 ms"),
              HasSubstr("as it was. No difference"));
}

TEST_F(SearchTurnsTest, TuneFindsTheFasterSetting) {
  const TuneResult result = Tune({1, 0.8, 1.2});
  ASSERT_TRUE(result.best.has_value() && result.other.has_value());
  EXPECT_EQ(result.best->setting.max_wait_ms, 0.8);
  EXPECT_NEAR(*result.best->rate / *result.other->rate, 1.3, 0.1);
}

}  // namespace
}  // namespace ferry::bench
