// Tests what pages of metrics make of a recording: differences, resets, gaps.
#include "deploy/ctl/metrics_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "absl/strings/str_cat.h"

namespace ferry::ctl {
namespace {

using plan::Signal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The counters of a page of one model with two instances.
struct Page {
  double rows = 0;
  double busy_s = 0;  // of each instance
  double answered = 0;
  double refused = 0;
  double start_s = 1e9;
};

constexpr char kDevice[] = R"(
ferry_gpm_sm_ratio{uuid="GPU-1"} 0.5
ferry_device_memory_bytes{uuid="GPU-1",kind="total"} 80
ferry_device_memory_bytes{uuid="GPU-1",kind="used"} 20
ferry_device_memory_bytes{uuid="GPU-1",kind="reserved"} 1
ferry_gpu_power_watts{uuid="GPU-1"} 300
)";

std::string Text(const Page& page) {
  constexpr char kModel[] = R"({model="m",version="1")";
  return absl::StrCat(
      "# HELP ferry_instances Instances\n", "ferry_capacity_rows_per_second",
      kModel, "} 200\n", "ferry_instances", kModel, "} 2\n",  //
      "ferry_arrived_rows_total", kModel, "} ", page.rows, "\n",
      "ferry_compute_busy_seconds_total", kModel, ",model_instance=\"0\"} ",
      page.busy_s, "\n",  //
      "ferry_compute_busy_seconds_total", kModel, ",model_instance=\"1\"} ",
      page.busy_s, "\n",  //
      "ferry_requests_total", kModel, ",code=\"OK\"} ", page.answered, "\n",
      "ferry_refused_total", kModel, ",reason=\"memory\"} ", page.refused,
      "\n",  //
      "process_start_time_seconds ", page.start_s, "\n");
}

std::optional<MetricsReading> Read(const std::string& text, double at_s) {
  const auto reading =
      ReadMetrics(text, TimePoint() + Milliseconds(at_s * 1000));
  EXPECT_TRUE(reading.ok()) << reading.status();
  return *reading;
}

std::optional<MetricsReading> Read(const Page& page, double at_s) {
  return Read(Text(page), at_s);
}

plan::Recording Period(const std::optional<MetricsReading>& from,
                       const std::optional<MetricsReading>& to) {
  plan::Recording recording;
  AppendPeriod(from, to, recording);
  EXPECT_EQ(recording.size, 1U);
  return recording;
}

void ExpectGap(const plan::Recording& recording) {
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.signals.at(Signal::kBusy), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(std::nullopt));
}

TEST(MetricsReadingTest, SamplesAreDifferencesOverTheTimeBetweenPages) {
  const auto recording = Period(
      Read({.rows = 50, .busy_s = 7, .answered = 10, .refused = 1}, 3),
      Read({.rows = 80, .busy_s = 7.75, .answered = 16, .refused = 4}, 4.5));
  // 30 rows in 1.5 s of 200 rows/s; 1.5 s of two instances.
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(0.1));
  EXPECT_THAT(recording.signals.at(Signal::kBusy), ElementsAre(0.5));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(6));
}

TEST(MetricsReadingTest, AServerThatRestsIsAtZero) {
  const auto recording = Period(Read({.rows = 5}, 0), Read({.rows = 5}, 1));
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(0));
  EXPECT_THAT(recording.signals.at(Signal::kBusy), ElementsAre(0));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(0));
}

TEST(MetricsReadingTest, LoadsOfModelsAddUp) {
  const auto with = [](double rows) {
    return absl::StrCat(
        Text({.rows = rows}),
        R"(ferry_arrived_rows_total{model="n",version="1"} )", 10 * rows, "\n",
        R"(ferry_capacity_rows_per_second{model="n",version="1"} 1000)", "\n");
  };
  EXPECT_THAT(
      Period(Read(with(0), 0), Read(with(20), 1)).signals.at(Signal::kLoad),
      ElementsAre(0.1 + 0.2));
}

TEST(MetricsReadingTest, ARestartIsAGap) {
  // By its counters a server after the restart might be the one before.
  ExpectGap(
      Period(Read({.rows = 5}, 0), Read({.rows = 9, .start_s = 1e9 + 1}, 1)));
}

TEST(MetricsReadingTest, ACounterThatFellIsAGap) {
  const auto recording = Period(Read({.rows = 5, .answered = 1}, 0),
                                Read({.rows = 4, .answered = 2}, 1));
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(1));
}

TEST(MetricsReadingTest, ACounterThatIsGoneIsAGapAndANewOneBeginsAtZero) {
  const std::string more =
      absl::StrCat(Text({.answered = 3}),
                   "ferry_requests_total{model=\"m\",version=\"1\","
                   "code=\"INTERNAL\"} 4\n");
  EXPECT_THAT(
      Period(Read({.answered = 3}, 0), Read(more, 1)).requests_per_second,
      ElementsAre(4));
  EXPECT_THAT(
      Period(Read(more, 0), Read({.answered = 3}, 1)).requests_per_second,
      ElementsAre(std::nullopt));
}

TEST(MetricsReadingTest, APageThatDoesNotComeIsAGapOnBothSides) {
  ExpectGap(Period(Read({.rows = 5}, 0), std::nullopt));
  ExpectGap(Period(std::nullopt, Read({.rows = 5}, 1)));
}

TEST(MetricsReadingTest, AStallIsAGap) {
  ExpectGap(Period(Read({.rows = 5}, 0), Read({.rows = 9}, 2.1)));
  ExpectGap(Period(Read({.rows = 5}, 1), Read({.rows = 9}, 1)));
}

TEST(MetricsReadingTest, RowsOfAModelWithoutACapacityAreUnknownLoad) {
  const auto with = [](double rows) {
    return absl::StrCat("ferry_arrived_rows_total{model=\"m\",version=\"1\"} ",
                        rows, "\n");
  };
  EXPECT_THAT(
      Period(Read(with(1), 0), Read(with(2), 1)).signals.at(Signal::kLoad),
      ElementsAre(std::nullopt));
  EXPECT_THAT(
      Period(Read(with(1), 0), Read(with(1), 1)).signals.at(Signal::kLoad),
      ElementsAre(0));
}

TEST(MetricsReadingTest, WhatTheDeviceSaysIsOfItsPage) {
  const auto recording =
      Period(std::nullopt, Read(absl::StrCat(Text({}), kDevice), 1));
  EXPECT_THAT(recording.signals.at(Signal::kSm), ElementsAre(0.5));
  EXPECT_THAT(recording.signals.at(Signal::kMemory), ElementsAre(0.25));
  EXPECT_THAT(recording.power_w, ElementsAre(300));
}

TEST(MetricsReadingTest, WithoutADeviceItsSamplesAreAbsent) {
  const auto recording = Period(Read(Page(), 0), Read(Page(), 1));
  EXPECT_THAT(recording.signals.at(Signal::kSm), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.signals.at(Signal::kMemory), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.power_w, ElementsAre(std::nullopt));
}

TEST(MetricsReadingTest, AServerWithoutModelsHasNoSamples) {
  const auto idle = Read("ferry_build_info 1\n", 0);
  ExpectGap(Period(idle, Read("ferry_build_info 1\n", 1)));
}

TEST(MetricsReadingTest, APageOfAnotherServerIsRefused) {
  const auto reading = ReadMetrics("nv_gpu_utilization 1\n", TimePoint());
  EXPECT_EQ(reading.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(reading.status().message()),
              HasSubstr("expected the metrics of a ferry-server"));
}

}  // namespace
}  // namespace ferry::ctl
