// Tests how lines of Prometheus text become samples.
#include "bench/device/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(SamplesOfTest, LabelsAndValuesOfThoseThatBeginSo) {
  const auto samples = SamplesOf(
      "# HELP a_b what a{b} is\n"
      "a_b{x=\"1\", y=\"two, \\\"2\\\"}\\n\"} 2.5 1700000000000\n"
      "a_c 7\n"
      "b_c{x=\"1\"} 8\n",
      "a_");
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].name, "a_b");
  EXPECT_THAT(samples[0].labels,
              UnorderedElementsAre(Pair("x", "1"), Pair("y", "two, \"2\"}\n")));
  EXPECT_EQ(samples[0].value, 2.5);
  EXPECT_EQ(samples[0].Label("x"), "1");
  EXPECT_EQ(samples[0].Label("z"), "");
  EXPECT_EQ(samples[1].name, "a_c");
  EXPECT_EQ(samples[1].value, 7);
}

TEST(SamplesOfTest, WhatIsNoSampleIsPassedOver) {
  for (const char* line :
       {"a", "a{", "a{x=\"1\"", "a{x=\"1} 2", "a{x=1} 2", "a{x=\"1\"}",
        "a{x=\"1\"} two", "a ", "a{x=\"1\\", ""}) {
    EXPECT_THAT(SamplesOf(line, "a"), IsEmpty()) << line;
  }
}

}  // namespace
}  // namespace ferry::bench
