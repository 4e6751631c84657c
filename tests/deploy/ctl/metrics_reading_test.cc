// Tests what pages of metrics make of a recording: differences, resets, gaps.
#include "deploy/ctl/metrics_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

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
  double start_s = 1000;
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

std::optional<MetricsReading> ReadPage(const Page& page, double at_s) {
  return Read(Text(page), at_s);
}

plan::Recording Period(const std::optional<MetricsReading>& from,
                       const std::optional<MetricsReading>& to) {
  PageRecorder recorder(from, 1, {});
  recorder.Add(to);
  EXPECT_EQ(recorder.recording().size, 1U);
  return recorder.recording();
}

void ExpectGap(const plan::Recording& recording) {
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.signals.at(Signal::kBusy), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(std::nullopt));
}

TEST(MetricsReadingTest, SamplesAreDifferencesOverTheTimeBetweenPages) {
  const auto recording = Period(
      ReadPage({.rows = 50, .busy_s = 7, .answered = 10, .refused = 1}, 3),
      ReadPage({.rows = 80, .busy_s = 7.75, .answered = 16, .refused = 4},
               4.5));
  // 30 rows in 1.5 s of 200 rows/s; 1.5 s of two instances.
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(0.1));
  EXPECT_THAT(recording.signals.at(Signal::kBusy), ElementsAre(0.5));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(6));
}

// What batches were, and what was refused, up to now.
std::string Batches(double times) {
  constexpr char kPage[] = R"(
ferry_max_batch_size_rows{model="m",version="1"} 8
ferry_batch_rows_sum{model="m",version="1"} $0
ferry_batch_rows_count{model="m",version="1"} $1
ferry_stage_seconds_sum{model="m",version="1"} $2
ferry_compute_seconds_sum{model="m",version="1"} $3
ferry_rows_total{model="m",version="1"} $4
ferry_padding_rows_total{model="m",version="1"} $5
ferry_input_elements_total{model="m",version="1"} $6
ferry_padding_elements_total{model="m",version="1"} $7
ferry_requests_total{model="m",version="1",code="OK"} $8
ferry_refused_total{model="m",version="1",reason="queue_rows"} $9
ferry_refused_total{model="m",version="1",reason="would_miss"} $5
ferry_request_seconds_sum{model="m",version="1"} $2
)";
  return absl::Substitute(kPage, 20 * times, 10 * times, times, 3 * times,
                          60 * times, 20 * times, 80 * times, 20 * times,
                          60 * times, 20 * times);
}

TEST(MetricsReadingTest, SharesOfBatchesAreThoseOfThePeriod) {
  const auto recording = Period(Read(Batches(1), 0), Read(Batches(3), 1));
  const auto share = [&recording](Signal signal) {
    return *recording.signals.at(signal)[0];
  };
  EXPECT_DOUBLE_EQ(share(Signal::kBatchFill), 0.25);  // 2 of 8
  EXPECT_DOUBLE_EQ(share(Signal::kStage), 0.25);
  EXPECT_DOUBLE_EQ(share(Signal::kPadding), 1 - 0.75 * 0.8);
  // What would have been late was not refused for want of room.
  EXPECT_DOUBLE_EQ(share(Signal::kRefused), 0.2);
  EXPECT_DOUBLE_EQ(*recording.requests_under_way[0], 2);
}

TEST(MetricsReadingTest, WithoutBatchesThereAreNoSharesOfThem) {
  const auto recording = Period(Read(Batches(1), 0), Read(Batches(1), 1));
  for (const Signal signal : {Signal::kBatchFill, Signal::kStage,
                              Signal::kPadding, Signal::kRefused}) {
    EXPECT_THAT(recording.signals.at(signal), ElementsAre(std::nullopt));
  }
  EXPECT_THAT(recording.requests_under_way, ElementsAre(0));
}

TEST(MetricsReadingTest, TheLinksShareIsOfWhatItCarries) {
  const auto page = Read(R"(ferry_gpm_dram_ratio{uuid="GPU-1"} 0.6
ferry_gpm_pcie_bytes_per_second{uuid="GPU-1",direction="sent"} 9e9
ferry_gpm_pcie_bytes_per_second{uuid="GPU-1",direction="received"} 5e9
)",
                         0);
  PageRecorder recorder(std::nullopt, 1, {.bytes_per_second = 20e9});
  recorder.Add(page);
  EXPECT_THAT(recorder.recording().signals.at(Signal::kDram), ElementsAre(0.6));
  EXPECT_THAT(recorder.recording().signals.at(Signal::kPcie),
              ElementsAre(0.25));
  const auto unknown = Period(std::nullopt, page);
  EXPECT_THAT(unknown.signals.at(Signal::kDram), ElementsAre(0.6));
  EXPECT_THAT(unknown.signals.at(Signal::kPcie), ElementsAre(std::nullopt));
}

TEST(MetricsReadingTest, AServerThatRestsIsAtZero) {
  const auto recording =
      Period(ReadPage({.rows = 5}, 0), ReadPage({.rows = 5}, 1));
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
  ExpectGap(Period(ReadPage({.rows = 5}, 0),
                   ReadPage({.rows = 9, .start_s = 1001}, 1)));
}

TEST(MetricsReadingTest, ACounterThatFellIsAGap) {
  const auto recording = Period(ReadPage({.rows = 5, .answered = 1}, 0),
                                ReadPage({.rows = 4, .answered = 2}, 1));
  EXPECT_THAT(recording.signals.at(Signal::kLoad), ElementsAre(std::nullopt));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(1));
}

TEST(MetricsReadingTest, ACounterThatIsGoneIsAGapAndANewOneBeginsAtZero) {
  const std::string more =
      absl::StrCat(Text({.answered = 3}),
                   "ferry_requests_total{model=\"m\",version=\"1\","
                   "code=\"INTERNAL\"} 4\n");
  EXPECT_THAT(
      Period(ReadPage({.answered = 3}, 0), Read(more, 1)).requests_per_second,
      ElementsAre(4));
  EXPECT_THAT(
      Period(Read(more, 0), ReadPage({.answered = 3}, 1)).requests_per_second,
      ElementsAre(std::nullopt));
}

TEST(MetricsReadingTest, WithoutTheOtherPageThereIsNoDifference) {
  ExpectGap(Period(ReadPage({.rows = 5}, 0), std::nullopt));
  ExpectGap(Period(std::nullopt, ReadPage({.rows = 5}, 1)));
}

TEST(MetricsReadingTest, PagesThatDoNotComeAreBridged) {
  PageRecorder recorder(ReadPage({.rows = 0}, 0), 1, {});
  recorder.Add(Read(absl::StrCat(Text({.rows = 20}), kDevice), 1));
  recorder.Add(std::nullopt);
  recorder.Add(std::nullopt);
  recorder.Add(Read(absl::StrCat(Text({.rows = 200}), kDevice), 4));
  const plan::Recording& recording = recorder.recording();
  EXPECT_EQ(recording.size, 4U);
  // 180 rows in 3 s of 200 rows/s.
  EXPECT_THAT(recording.signals.at(Signal::kLoad),
              ElementsAre(0.1, 0.3, 0.3, 0.3));
  EXPECT_THAT(recording.requests_per_second, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(recording.signals.at(Signal::kSm),
              ElementsAre(0.5, std::nullopt, std::nullopt, 0.5))
      << "a page says it of its moment";
}

TEST(MetricsReadingTest, ARestartBesideAMissingPageIsAGap) {
  PageRecorder recorder(ReadPage({.rows = 5}, 0), 1, {});
  recorder.Add(std::nullopt);
  recorder.Add(ReadPage({.rows = 9, .start_s = 1001}, 2));
  EXPECT_THAT(recorder.recording().signals.at(Signal::kLoad),
              ElementsAre(std::nullopt, std::nullopt));
}

TEST(MetricsReadingTest, AStallIsAGap) {
  ExpectGap(Period(ReadPage({.rows = 5}, 0), ReadPage({.rows = 9}, 5.6)));
  ExpectGap(Period(ReadPage({.rows = 5}, 1), ReadPage({.rows = 9}, 1)));
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
  const auto recording = Period(ReadPage({}, 0), ReadPage({}, 1));
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
