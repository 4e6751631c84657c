// Tests the search on servers whose knee is known.
#include "bench/search/slo_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ferry::bench {
namespace {

// Tries until the end; `meets` says of a rate.
template <typename Meets>
std::optional<double> Search(const SloSearchOptions& options, int& tries,
                             const Meets& meets) {
  SloSearch search(options);
  tries = 0;
  while (const auto next = search.Next()) {
    ++tries;
    search.Report(meets(*next));
  }
  return search.found();
}

TEST(SloSearchTest, KneeIsFoundFromBelowAndFromAbove) {
  for (const double first : {1.0, 90.0, 1000.0, 1100.0, 30'000.0}) {
    int tries = 0;
    const auto found =
        Search({.first_rate = first}, tries,
               [](SloSearch::Try next) { return next.rate <= 1000; });
    ASSERT_TRUE(found.has_value()) << first;
    EXPECT_LE(*found, 1000);
    EXPECT_GE(*found, 1000 / 1.01);
    EXPECT_LE(tries, 47);
  }
}

TEST(SloSearchTest, OneMissByChanceCapsNothing) {
  // Each rate misses the first time it is tried.
  double last = 0;
  int tries = 0;
  const auto found = Search({}, tries, [&last](SloSearch::Try next) {
    const bool is_first = next.rate != last;
    last = next.rate;
    return next.rate <= 1000 &&
           (next.stage == SloSearch::Stage::kConfirm || !is_first);
  });
  ASSERT_TRUE(found.has_value());
  EXPECT_GE(*found, 1000 / 1.01);
}

TEST(SloSearchTest, RateThatMetByLuckStepsDown) {
  // Bisection meets up to 1100; whole runs only up to 1000.
  int tries = 0;
  const auto found = Search({}, tries, [](SloSearch::Try next) {
    return next.rate <=
           (next.stage == SloSearch::Stage::kConfirm ? 1000 : 1100);
  });
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(*found, 1000);
  EXPECT_GE(*found, 1000 * 0.99);
}

TEST(SloSearchTest, ConfirmationsAreInARow) {
  SloSearch search({.first_rate = 100, .precision = 1, .confirmations = 2});
  search.Report(true);  // 100
  for (const double rate : {200.0, 100 * std::sqrt(2)}) {
    for (int miss = 0; miss < 2; ++miss) {
      EXPECT_NEAR(search.Next()->rate, rate, 1e-9) << "a miss is repeated";
      search.Report(false);
    }
  }
  ASSERT_EQ(search.Next()->stage, SloSearch::Stage::kConfirm);
  EXPECT_DOUBLE_EQ(search.Next()->rate, 100);
  search.Report(true);
  search.Report(false);
  EXPECT_DOUBLE_EQ(search.Next()->rate, 50) << "a step down, and from new";
  search.Report(true);
  EXPECT_FALSE(search.found().has_value());
  search.Report(true);
  EXPECT_EQ(search.found(), 50);
  EXPECT_FALSE(search.Next().has_value());
}

TEST(SloSearchTest, ServerThatMeetsAtNoRateEndsTheSearch) {
  int tries = 0;
  EXPECT_FALSE(
      Search({}, tries, [](SloSearch::Try) { return false; }).has_value());
  EXPECT_LE(tries, 26);
}

TEST(SloSearchTest, NoSearchIsEndless) {
  std::mt19937 random(1);
  for (int run = 0; run < 100; ++run) {
    int tries = 0;
    Search({}, tries, [&](SloSearch::Try) { return random() % 2 == 0; });
    EXPECT_LE(tries, SloSearchOptions().max_tries);
  }
}

TEST(SloSearchTest, WhatTheClientCannotSendIsTheCeiling) {
  SloSearch search({.first_rate = 100});
  int tries = 0;
  while (const auto next = search.Next()) {
    ASSERT_LT(++tries, 50);
    if (next->rate > 500) {
      search.ReportCeiling();
    } else {
      search.Report(true);
    }
  }
  EXPECT_EQ(search.found(), 400) << "the last that could be sent";
}

TEST(SloSearchTest, OneLateConfirmationIsRepeated) {
  SloSearch search({.first_rate = 100, .precision = 1, .confirmations = 2});
  search.Report(true);
  for (int miss = 0; miss < 4; ++miss) {
    search.Report(false);
  }
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(search.Next()->stage, SloSearch::Stage::kConfirm);
    search.ReportCeiling();
    EXPECT_DOUBLE_EQ(search.Next()->rate, 100);
    search.Report(true);
  }
  EXPECT_EQ(search.found(), 100);
}

TEST(SloSearchTest, DoubtfulConfirmationIsRepeatedOnceAndStepsDown) {
  SloSearch search({.first_rate = 100, .precision = 1, .confirmations = 2});
  search.Report(true);
  for (int miss = 0; miss < 4; ++miss) {
    search.ReportDoubt();  // before the confirmation: a miss
  }
  ASSERT_EQ(search.Next()->stage, SloSearch::Stage::kConfirm);
  search.Report(true);
  search.ReportDoubt();
  EXPECT_DOUBLE_EQ(search.Next()->rate, 100) << "it counts for nothing";
  search.ReportDoubt();
  EXPECT_DOUBLE_EQ(search.Next()->rate, 50) << "twice in a row";
  search.Report(true);
  search.ReportDoubt();
  search.Report(true);
  EXPECT_EQ(search.found(), 50);
}

TEST(SloSearchTest, SmallerGrowthBracketsClosely) {
  SloSearch search({.first_rate = 100, .growth = 1.1});
  search.Report(true);
  EXPECT_DOUBLE_EQ(search.Next()->rate, 110);
  SloSearch down({.first_rate = 110, .growth = 1.1});
  down.Report(false);
  down.Report(false);
  EXPECT_DOUBLE_EQ(down.Next()->rate, 100);
}

TEST(SloSearchTest, UsualTriesAreThoseOfASearch) {
  // A server whose tries are sure takes those that bracket, bisect, confirm.
  int tries = 0;
  for (const double precision : {0.01, 0.02, 0.1, 0.5}) {
    const SloSearchOptions options = {.first_rate = 600,
                                      .precision = precision};
    Search(options, tries,
           [](SloSearch::Try next) { return next.rate <= 1000; });
    EXPECT_NEAR(SloSearch::UsualTries(options), tries, 4) << precision;
  }
}

TEST(SloSearchTest, TriesLeftAreOfTheStagesToCome) {
  const SloSearchOptions options = {.first_rate = 600};
  SloSearch search(options);
  int left = SloSearch::UsualTries(options);
  EXPECT_EQ(search.TriesLeft().narrowing + search.TriesLeft().confirming, left);
  search.Report(true);  // 600; 1200 misses twice
  search.Report(false);
  search.Report(false);
  int tries = 0;
  while (search.Next()->stage != SloSearch::Stage::kConfirm) {
    EXPECT_GE(search.TriesLeft().narrowing, 1);
    EXPECT_LE(search.TriesLeft().narrowing, left) << "it only narrows";
    EXPECT_EQ(search.TriesLeft().confirming, options.confirmations + 1);
    left = search.TriesLeft().narrowing;
    search.Report(search.Next()->rate <= 1000);
    ASSERT_LT(++tries, 60);
  }
  for (int confirmed = 0; confirmed < options.confirmations; ++confirmed) {
    EXPECT_EQ(search.TriesLeft().narrowing, 0);
    EXPECT_EQ(search.TriesLeft().confirming, options.confirmations - confirmed);
    search.Report(true);
  }
  EXPECT_EQ(search.TriesLeft().confirming, 0) << "it has ended";
}

TEST(SloSearchTest, TriesLeftAreNoMoreThanItMakes) {
  SloSearch search({.first_rate = 600, .max_tries = 5});
  for (int left = 5; left >= 0; --left) {
    EXPECT_LE(search.TriesLeft().narrowing + search.TriesLeft().confirming,
              left);
    EXPECT_EQ(search.TriesLeft().narrowing + search.TriesLeft().confirming > 0,
              search.Next().has_value());
    if (left > 0) {
      search.Report(true);
    }
  }
}

TEST(SloSearchTest, ClientThatCannotSendTheFirstTriesLess) {
  SloSearch search({.first_rate = 100});
  search.ReportCeiling();
  search.ReportCeiling();
  EXPECT_DOUBLE_EQ(search.Next()->rate, 50);
}

// Reports so many tries that the client could not make.
void BeLate(SloSearch& search, int tries) {
  for (int i = 0; i < tries; ++i) {
    ASSERT_TRUE(search.Next().has_value());
    search.ReportCeiling();
  }
}

TEST(SloSearchTest, ClientThatIsLateAtThreeRatesEndsTheSearch) {
  SloSearch search({.first_rate = 100});
  BeLate(search, 6);
  EXPECT_FALSE(search.Next().has_value());
  EXPECT_FALSE(search.found().has_value());
  EXPECT_EQ(search.TriesLeft().narrowing + search.TriesLeft().confirming, 0);
}

TEST(SloSearchTest, ClientThatIsLateAtThreeConfirmationsEndsTheSearch) {
  SloSearch search({.first_rate = 100});
  search.Report(true);
  BeLate(search, 6);  // 200, then 100 and a step below it
  EXPECT_FALSE(search.Next().has_value());
  EXPECT_FALSE(search.found().has_value());
}

TEST(SloSearchTest, RateThatIsSentInTimeForgetsThoseThatWereNot) {
  SloSearch search({.first_rate = 100, .confirmations = 1});
  BeLate(search, 4);
  EXPECT_DOUBLE_EQ(search.Next()->rate, 25);
  search.Report(true);
  BeLate(search, 4);  // between the two, then at 25
  ASSERT_TRUE(search.Next().has_value());
  search.Report(true);
  EXPECT_TRUE(search.found().has_value());
}

}  // namespace
}  // namespace ferry::bench
