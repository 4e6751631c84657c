// Tests the bands of each policy at their edges, and that they leave nothing
// out.
#include "bench/plan/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ferry::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string NameOf(const std::string& policy, double percent) {
  const auto band = BandOf(*FindPolicy(policy), percent);
  EXPECT_TRUE(band.ok()) << band.status();
  return band.ok() ? band->name : "";
}

TEST(PolicyTest, EdgesBelongToTheBandAbove) {
  EXPECT_EQ(NameOf("s0-profile", 24.9), "overprovisioned");
  EXPECT_EQ(NameOf("s0-profile", 25), "underutilized");
  EXPECT_EQ(NameOf("s0-profile", 59.9), "underutilized");
  EXPECT_EQ(NameOf("s0-profile", 60), "well_utilized");
  EXPECT_EQ(NameOf("s0-target", 39.9), "consolidate");
  EXPECT_EQ(NameOf("s0-target", 40), "low_normal");
  EXPECT_EQ(NameOf("s0-target", 60), "target");
  EXPECT_EQ(NameOf("s0-target", 80), "tight");
  EXPECT_EQ(NameOf("s0-target", 85), "scale_out");
  EXPECT_EQ(NameOf("s1-sm", 59.9), "low");
  EXPECT_EQ(NameOf("s1-sm", 60), "good");
  EXPECT_EQ(NameOf("s1-sm", 85), "high");
  EXPECT_EQ(NameOf("s1-memory", 39.9), "room_for_more");
  EXPECT_EQ(NameOf("s1-memory", 40), "fine");
  EXPECT_EQ(NameOf("s1-memory", 80), "high");
  EXPECT_EQ(NameOf("s1-memory", 95), "runs_out");
  EXPECT_EQ(NameOf("s2-week", 29.9), "mostly_idle");
  EXPECT_EQ(NameOf("s2-week", 30), "overprovisioned");
  EXPECT_EQ(NameOf("s2-week", 40), "in_use");
}

TEST(PolicyTest, EachPercentageIsInOneBand) {
  for (const Policy& policy : Policies()) {
    for (int percent = 0; percent <= 100; ++percent) {
      int bands = 0;
      double begin = 0;
      for (const Band& band : policy.bands) {
        const bool is_last = &band == &policy.bands.back();
        const bool is_in = percent >= begin && (is_last || percent < band.end);
        bands += is_in ? 1 : 0;
        if (is_in) {
          EXPECT_STREQ(BandOf(policy, percent)->name, band.name)
              << policy.name << ' ' << percent;
        }
        EXPECT_TRUE(is_last || band.end > begin) << policy.name;
        begin = band.end;
      }
      EXPECT_EQ(bands, 1) << policy.name << ' ' << percent;
    }
  }
}

TEST(PolicyTest, OverloadIsInTheLastBand) {
  EXPECT_EQ(NameOf("s0-target", 250), "scale_out");
}

TEST(PolicyTest, WhatIsNoPercentageIsRefused) {
  EXPECT_FALSE(BandOf(*FindPolicy("s0-target"), -0.1).ok());
  EXPECT_FALSE(BandOf(*FindPolicy("s0-target"), std::nan("")).ok());
}

TEST(PolicyTest, UnknownNamesListThoseKnown) {
  EXPECT_THAT(std::string(FindPolicy("s3").status().message()),
              AllOf(HasSubstr("s0-profile, s0-target, s1-sm, s1-memory, "
                              "s2-week"),
                    HasSubstr("got 's3'")));
  EXPECT_THAT(std::string(ParseSignal("heat").status().message()),
              HasSubstr("got 'heat'"));
}

}  // namespace
}  // namespace ferry::plan
