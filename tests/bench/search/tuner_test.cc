// Tests the race of settings, on servers whose rates are given.
#include "bench/search/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TunerTest : public ::testing::Test {
 protected:
  // Settings of one row whose waits are the rates that they carry.
  TuneResult Tune(const std::vector<double>& rates) {
    std::vector<RuntimeSetting> settings;
    for (const double rate : rates) {
      settings.push_back({"window", 1, rate});
    }
    Tuner tuner(
        TunePrecision{.coarse = 0.05, .confirmed = 0.02},
        [this](const RuntimeSetting& setting) {
          setting_ = setting;
          return turn_;
        },
        [this](Tuner::Search search,
               double first_rate) -> std::optional<double> {
          searches_.emplace_back(search, first_rate);
          const double carried = setting_.max_wait_ms;
          if (search == Tuner::Search::kOnlyAbove && carried < first_rate) {
            return lucky_ ? std::optional(first_rate) : std::nullopt;
          }
          return carried > 0 ? std::optional(carried * coarse_) : std::nullopt;
        },
        [this](std::vector<TunedSetting>& finalists) {
          for (TunedSetting& tuned : finalists) {
            confirmed_.push_back(tuned.setting.max_wait_ms);
            tuned.rate = tuned.setting.max_wait_ms;
          }
          return confirm_;
        },
        [this] { return searches_.size() == stop_after_; });
    TuneResult result;
    status_ = tuner.Run(settings, result);
    return result;
  }

  static std::string Say(const TuneResult& result) {
    return DescribeAnswer(result, {.coarse = 0.05, .confirmed = 0.02},
                          "p99 <= 5 ms");
  }

  absl::Status turn_;
  absl::Status status_;
  absl::Status confirm_;
  bool lucky_ = false;  // each meets where it is tried
  double coarse_ = 1;   // of what a setting carries, what the race finds
  std::vector<double> confirmed_;  // waits, in order
  RuntimeSetting setting_;
  std::vector<std::pair<Tuner::Search, double>> searches_;
  size_t stop_after_ = 1000;
};

TEST_F(TunerTest, BestIsConfirmedBesideTheFirst) {
  const TuneResult result = Tune({100, 90, 108, 150, 140});
  ASSERT_TRUE(status_.ok() && result.best.has_value());
  EXPECT_EQ(result.best->setting.max_wait_ms, 150);
  EXPECT_THAT(confirmed_, ElementsAre(100, 150));
  ASSERT_TRUE(result.other.has_value());
  EXPECT_EQ(result.other->rate, 100);
  ASSERT_EQ(result.tried.size(), 5U);
  EXPECT_EQ(result.tried[0].rate, 100);
  EXPECT_FALSE(result.tried[1].rate.has_value());
  EXPECT_FALSE(result.tried[2].rate.has_value()) << "by 8 % only";
  EXPECT_EQ(result.tried[3].rate, 150);
  EXPECT_DOUBLE_EQ(result.tried[4].above, 165);
  EXPECT_EQ(searches_.front().first, Tuner::Search::kCoarse);
  EXPECT_THAT(Say(result),
              HasSubstr("150 requests/s with p99 <= 5 ms: window, 1 rows, 150 "
                        "ms; as it was, window, 1 rows, 100 ms, 100: 1.50 "
                        "times"));
}

TEST_F(TunerTest, WhatTheRaceErrsByMakesNoDifference) {
  coarse_ = 0.95;  // the first is known to 5 % only
  const TuneResult result = Tune({100, 100, 103});
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(result.best->setting.max_wait_ms, 100);
  EXPECT_FALSE(result.other.has_value()) << "neither was worth a search";
  EXPECT_THAT(confirmed_, ElementsAre(100));
  EXPECT_THAT(Say(result), HasSubstr("No difference: none of the others"));
}

TEST_F(TunerTest, WinnerByLuckIsFoundOutInTurns) {
  lucky_ = true;
  for (const double rate : {80.0, 99.0, 103.0}) {
    const TuneResult result = Tune({100, rate});
    ASSERT_TRUE(result.best.has_value() && result.other.has_value());
    EXPECT_EQ(result.best->setting.max_wait_ms, 100) << "as it was";
    EXPECT_EQ(result.other->rate, rate);
    EXPECT_THAT(Say(result), HasSubstr("as it was. No difference: in turns"));
  }
}

TEST_F(TunerTest, FirstThatCarriesNothingIsNotConfirmed) {
  const TuneResult result = Tune({0, 7});
  ASSERT_TRUE(result.best.has_value());
  EXPECT_THAT(confirmed_, ElementsAre(7));
  EXPECT_FALSE(result.other.has_value());
  EXPECT_THAT(Say(result), HasSubstr("as it was, window, 1 rows, 0 ms, none"));
}

TEST_F(TunerTest, ConfirmationThatFailsIsAnError) {
  confirm_ = absl::UnavailableError("gone");
  EXPECT_FALSE(Tune({100}).best.has_value());
  EXPECT_THAT(std::string(status_.message()), HasSubstr("gone"));
}

TEST_F(TunerTest, SettingsThatCarryNothingArePassedOver) {
  const TuneResult result = Tune({0, 0, 7});
  ASSERT_TRUE(status_.ok() && result.best.has_value());
  EXPECT_EQ(result.best->rate, 7);
  EXPECT_FALSE(Tune({0, 0}).best.has_value());
}

TEST_F(TunerTest, StopEndsWithoutAWinner) {
  stop_after_ = 2;
  const TuneResult result = Tune({100, 200, 300});
  ASSERT_TRUE(status_.ok());
  EXPECT_EQ(result.tried.size(), 1U) << "the second was cut short";
  EXPECT_FALSE(result.best.has_value());
}

TEST_F(TunerTest, RuntimeOptionThatCannotBeSetIsAnError) {
  turn_ = absl::UnimplementedError("no runtime options");
  EXPECT_TRUE(Tune({100}).tried.empty());
  EXPECT_THAT(std::string(status_.message()), HasSubstr("no runtime options"));
}

TEST(RuntimeGridTest, EagerHasNoWaits) {
  const auto grid = GridOf({.policies = {"eager", "window"},
                            .max_batch_sizes = {8, 4},
                            .max_waits_ms = {1, 2}});
  std::vector<std::string> texts;
  for (const RuntimeSetting& setting : grid) {
    texts.push_back(Describe(setting));
  }
  EXPECT_THAT(texts,
              ElementsAre("eager, 8 rows", "eager, 4 rows",
                          "window, 8 rows, 1 ms", "window, 8 rows, 2 ms",
                          "window, 4 rows, 1 ms", "window, 4 rows, 2 ms"));
}

TEST(RuntimeGridTest, ChoicesAreMadeFromServerAndBound) {
  const RuntimeChoices choices = Completed({}, 64, 50);
  EXPECT_THAT(choices.max_batch_sizes, ElementsAre(64, 32, 16));
  EXPECT_THAT(choices.max_waits_ms, ElementsAre(1, 5, 12.5));
  EXPECT_THAT(Completed({}, 1, 50).max_batch_sizes, ElementsAre(1));
  EXPECT_THAT(Completed({.max_batch_sizes = {3}, .max_waits_ms = {}}, 64, 50)
                  .max_batch_sizes,
              ElementsAre(3));
}

TEST(RuntimeGridTest, ChoicesThatAreLeftOutAreTheServers) {
  const RuntimeChoices choices = CompletedBy(
      {.policies = {}, .max_batch_sizes = {}, .max_waits_ms = {2, 3}},
      {"window", 16, 5});
  EXPECT_THAT(choices.policies, ElementsAre("window"));
  EXPECT_THAT(choices.max_batch_sizes, ElementsAre(16));
  EXPECT_THAT(choices.max_waits_ms, ElementsAre(2, 3));
}

TEST(RuntimeGridTest, ConfigHasTheSetting) {
  EXPECT_EQ(ConfigOf({"adaptive", 32, 2.5}),
            "max_batch_size: 32\n"
            "dynamic_batching { max_queue_delay_microseconds: 2500 }\n"
            "parameters { key: \"ferry.policy\" value { string_value: "
            "\"adaptive\" } }\n");
  EXPECT_THAT(ConfigOf({"eager", 8, 2}), HasSubstr("dynamic_batching {}"));
}

}  // namespace
}  // namespace ferry::bench
