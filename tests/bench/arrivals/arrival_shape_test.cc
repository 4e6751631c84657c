// Tests --arrivals: what each form makes, its moments against their closed
// forms, and what is said of wrong ones.
#include "bench/arrivals/arrival_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/bench/arrivals/arrival_statistics.h"

namespace ferry::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kGaps = 400000;
constexpr double kRate = 1000;

std::vector<int64_t> GapsNs(const std::string& text, uint64_t seed) {
  const auto shape = ParseArrivals(text);
  EXPECT_TRUE(shape.ok()) << shape.status();
  return DrawGapsNs(*shape->make(kRate, seed), kGaps);
}

struct Form {
  const char* text;
  double squared_cv;  // of gaps
  double dispersion;  // of counts in long windows; squared_cv of a renewal
};

// Bursts: gaps are 0, or in 1 of 8 cases exponential with 8 times the mean.
// On/off: Fischer and Meier-Hellstern, "The Markov-modulated Poisson process
// (MMPP) cookbook", Performance Evaluation 18 (1993): the squared cv is
// 1 + 2 r s (a - b)^2 / ((r + s)^2 (a b + a s + b r)), and without `a b` the
// dispersion; r, s = 500, 125/s leave on and off, a, b are the rates there.
constexpr Form kForms[] = {{"poisson", 1, 1},
                           {"constant", 0, 0},
                           {"gamma:0.3", 0.09, 0.09},
                           {"gamma:3", 9, 9},
                           {"bursts:8", 15, 15},
                           {"onoff:2,8", 13.8, 13.8},
                           {"onoff:2,8,0.1", 2.7396, 6.2898}};

TEST(ArrivalShapeTest, MeanRateIsTheOneAskedFor) {
  for (const Form& form : kForms) {
    // A constant process leaves only rounding.
    const double error = 5 * std::sqrt(form.dispersion / kGaps) + 1e-9;
    EXPECT_NEAR(Mean(GapsNs(form.text, 41)) * kRate / 1e9, 1, error)
        << form.text;
  }
}

TEST(ArrivalShapeTest, GapsVaryAsTheFormSays) {
  for (const Form& form : kForms) {
    EXPECT_NEAR(SquaredCv(GapsNs(form.text, 42)), form.squared_cv,
                0.05 * form.squared_cv + 1e-9)
        << form.text;
  }
}

TEST(ArrivalShapeTest, SeedDecidesGaps) {
  for (const Form& form : kForms) {
    EXPECT_EQ(GapsNs(form.text, 5), GapsNs(form.text, 5)) << form.text;
    EXPECT_EQ(GapsNs(form.text, 5) == GapsNs(form.text, 6),
              form.text == std::string("constant"))
        << form.text;
  }
}

TEST(ArrivalShapeTest, NameIsWhatWasTyped) {
  for (const Form& form : kForms) {
    const auto shape = ParseArrivals(form.text);
    EXPECT_EQ(shape->name, form.text);
    EXPECT_EQ(shape->own_rate, 0);
  }
}

TEST(ArrivalShapeTest, TraceBringsItsRateTimesItsScale) {
  const std::string path = ::testing::TempDir() + "arrival_shape_test.txt";
  std::ofstream(path) << "0\n1\n4\n";
  const auto plain = ParseArrivals("trace:" + path);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->name, "trace:arrival_shape_test.txt");
  EXPECT_DOUBLE_EQ(plain->own_rate, 0.5);
  EXPECT_FALSE(plain->has_scale);
  const auto scaled = ParseArrivals("trace:" + path + ",3");
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  EXPECT_EQ(scaled->name, "trace:arrival_shape_test.txt,3");
  EXPECT_DOUBLE_EQ(scaled->own_rate, 1.5);
  EXPECT_TRUE(scaled->has_scale);
  // Gaps: the mean, then 1 s of the trace in a third of it.
  const auto arrivals = scaled->make(scaled->own_rate, 1);
  EXPECT_EQ(arrivals->NextGap(), Duration(666'666'666));
  EXPECT_NEAR(static_cast<double>(arrivals->NextGap().count()), 1e9 / 3, 1);
}

TEST(ArrivalShapeTest, WrongFormsSayWhatWasExpectedAndFound) {
  const std::pair<const char*, const char*> cases[] = {
      {"", kArrivalForms},
      {"pareto", kArrivalForms},
      {"poisson:1", kArrivalForms},
      {"constant:1", kArrivalForms},
      {"gamma", "gamma:CV with CV from 0.01 to 100"},
      {"gamma:", "gamma:CV"},
      {"gamma:x", "gamma:CV"},
      {"gamma:0", "gamma:CV"},
      {"gamma:nan", "gamma:CV"},
      {"gamma:1,2", "gamma:CV"},
      {"bursts:0.5", "bursts:MEAN with MEAN from 1 to 1e6"},
      {"bursts:1e7", "bursts:MEAN"},
      {"bursts:8,8", "bursts:MEAN"},
      {"onoff:5", "onoff:ON_MS,OFF_MS[,SHARE]"},
      {"onoff:5,0", "both times from 0.1 to 1e8 ms"},
      {"onoff:5,5,2", "SHARE from 0 to 1"},
      {"onoff:5,5,0,1", "onoff:ON_MS,OFF_MS[,SHARE]"},
      {"trace", "trace:FILE[,SCALE]"},
      {"trace:", "trace:FILE[,SCALE]"},
      {"trace:,2", "trace:FILE[,SCALE]"},
      {"trace:a,", "trace:FILE[,SCALE]"},
      {"trace:a,fast", "SCALE from 1e-6 to 1e6"},
      {"trace:a,0", "SCALE from 1e-6 to 1e6"},
      {"trace:a,1,2", "trace:FILE[,SCALE]"}};
  for (const auto& [text, expected] : cases) {
    const auto shape = ParseArrivals(text);
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_THAT(shape.status().message(),
                AllOf(HasSubstr("--arrivals: expected "), HasSubstr(expected),
                      HasSubstr("got '" + std::string(text) + "'")));
  }
  EXPECT_THAT(ParseArrivals("trace:/nonexistent,2").status().message(),
              HasSubstr("cannot read /nonexistent"));
}

}  // namespace
}  // namespace ferry::bench
