// Tests which steps and which server are asked of Prometheus.
#include "deploy/ctl/prometheus_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
// 20 s and 5 minutes past an hour.
constexpr int64_t kNow = 1'700'000'000 / kHour * kHour + 320;

TEST(PrometheusRecordingTest, AWeekIsOfMinutesAndEndsWithAnHour) {
  const auto range = RangeOf({.window_s = 7 * kDay, .labels = {}}, kNow);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->step_s, 60);
  EXPECT_EQ(range->steps, 10080U);
  EXPECT_EQ(range->end_s(), kNow - 320);
  EXPECT_EQ(range->begin_s, kNow - 320 - 7 * kDay + 60);
}

TEST(PrometheusRecordingTest, AnHourEndsWithItsLastStep) {
  const auto range = RangeOf({.window_s = kHour, .labels = {}}, kNow);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->steps, 60U);
  EXPECT_EQ(range->end_s(), kNow - 20);
}

TEST(PrometheusRecordingTest, LongWindowsKeepToTheLimit) {
  for (const int64_t days : {8, 31, 366}) {
    const auto range = RangeOf({.window_s = days * kDay, .labels = {}}, kNow);
    ASSERT_TRUE(range.ok()) << range.status();
    EXPECT_LE(range->steps, kMostSteps);
    EXPECT_EQ(kHour % range->step_s, 0);
    int64_t shorter_s = range->step_s - 60;
    while (kHour % shorter_s != 0) {
      shorter_s -= 60;
    }
    EXPECT_GT(days * kDay / shorter_s, static_cast<int64_t>(kMostSteps))
        << "a step is no longer than it must be";
  }
}

TEST(PrometheusRecordingTest, StepsPastTheLimitAreRefused) {
  const auto range =
      RangeOf({.window_s = 7 * kDay, .step_s = 30, .labels = {}}, kNow);
  EXPECT_THAT(std::string(range.status().message()),
              HasSubstr("--step: expected steps that an hour is a whole number "
                        "of, 1 to 11000 in the window, as Prometheus answers "
                        "no more, got 20160 of 30s; 60s do"));
  EXPECT_THAT(
      std::string(
          RangeOf({.window_s = kDay, .step_s = 25 * 60, .labels = {}}, kNow)
              .status()
              .message()),
      HasSubstr("got 57 of 1500s; 60s do"));
  EXPECT_THAT(
      std::string(RangeOf({.window_s = 30, .step_s = 60, .labels = {}}, kNow)
                      .status()
                      .message()),
      HasSubstr("got 0"));
}

TEST(PrometheusRecordingTest, LabelsAreMatchersWithTheirValuesEscaped) {
  EXPECT_EQ(*SelectorOf({}), "");
  EXPECT_EQ(*SelectorOf({"instance=a:1", "pod=a=b"}),
            R"(instance="a:1",pod="a=b")");
  EXPECT_EQ(*SelectorOf({"pod=\"}\\\n"}), R"(pod="\"}\\\n")");
  for (const char* wrong : {"pod", "=x", "po d=x", "1pod=x", "pod!=x"}) {
    EXPECT_THAT(std::string(SelectorOf({wrong}).status().message()),
                HasSubstr("--label: expected NAME=VALUE"))
        << wrong;
  }
}

}  // namespace
}  // namespace ferry::ctl
