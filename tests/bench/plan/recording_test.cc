// Tests which recordings are taken, and their quantiles.
#include "bench/plan/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

std::string With(const std::string& members) {
  return R"({"format": "ferry-recording/1", "period_seconds": 60)" +
         (members.empty() ? "" : ", " + members) + "}";
}

std::string Refusal(const std::string& text) {
  return std::string(ParseRecording(text, "r.json").status().message());
}

Samples Ramp(size_t count) {
  Samples samples;
  for (size_t i = count; i > 0; --i) {
    samples.emplace_back(static_cast<double>(i));
  }
  return samples;
}

TEST(RecordingTest, TakesEveryKey) {
  const auto recording = ParseRecording(
      With(R"("load": [0.5, null], "busy": [1, 1], "sm": [0.2, 0.3],
              "memory": [0.1, 0.1], "power_w": [300, 310],
              "requests_per_second": [5, 0])"),
      "r.json");
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->size, 2U);
  EXPECT_DOUBLE_EQ(recording->hours(), 2.0 / 60);
  EXPECT_EQ(recording->signals.at(Signal::kLoad)[0], 0.5);
  EXPECT_EQ(recording->signals.at(Signal::kLoad)[1], std::nullopt);
  EXPECT_EQ(recording->signals.size(), 4U);
  EXPECT_EQ(recording->power_w[1], 310);
}

TEST(RecordingTest, WhatIsWrittenIsRead) {
  const std::string text =
      With(R"("load": [0.1, null], "sm": [0.30000000000000004, 1e-9],
              "requests_per_second": [5, 0])");
  const auto recording = ParseRecording(text, "r.json");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const std::string written = RecordingJson(*recording);
  EXPECT_EQ(written, R"({"format":"ferry-recording/1","period_seconds":60.0,)"
                     R"("load":[0.1,null],"sm":[0.30000000000000004,1e-09],)"
                     R"("requests_per_second":[5.0,0.0]})"
                     "\n");
  const auto again = ParseRecording(written, "again.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->signals, recording->signals);
  EXPECT_EQ(again->requests_per_second, recording->requests_per_second);
}

TEST(RecordingTest, ASampleIsWhatARecordingTakes) {
  EXPECT_EQ(SampleOf(0.25), 0.25);
  EXPECT_EQ(SampleOf(0), 0);
  EXPECT_EQ(SampleOf(1e-12), 0) << "the parser refuses what is so small";
  EXPECT_EQ(SampleOf(-0.1), std::nullopt);
  EXPECT_EQ(SampleOf(std::nan("")), std::nullopt);
  EXPECT_EQ(SampleOf(HUGE_VAL), std::nullopt);
}

TEST(RecordingTest, ColumnsWithoutAValueAreLeftOut) {
  Recording recording;
  recording.size = 2;
  recording.signals[Signal::kLoad] = {std::nullopt, 0};
  recording.signals[Signal::kSm] = {std::nullopt, std::nullopt};
  recording.power_w = {std::nullopt, std::nullopt};
  recording.requests_per_second = {1, std::nullopt};
  ASSERT_TRUE(LeaveOutUnknown(recording, "r").ok());
  EXPECT_EQ(recording.signals.size(), 1U);
  EXPECT_TRUE(recording.power_w.empty());
  EXPECT_EQ(recording.requests_per_second.size(), 2U);
  recording.signals[Signal::kLoad] = {std::nullopt, std::nullopt};
  const absl::Status status = LeaveOutUnknown(recording, "r");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("r: expected samples of load, busy, sm or memory"));
}

TEST(RecordingTest, WrongFilesAreRefusedByTheirKey) {
  EXPECT_THAT(Refusal("{"), HasSubstr("r.json: expected JSON"));
  EXPECT_THAT(Refusal(R"({"format": "other/1", "period_seconds": 1})"),
              HasSubstr("format: expected \"ferry-recording/1\""));
  EXPECT_THAT(Refusal(With("")), HasSubstr("expected a column of load"));
  EXPECT_THAT(Refusal(With(R"("load": [])")), HasSubstr("load: expected 1 to"));
  EXPECT_THAT(Refusal(With(R"("load": [-1])")), HasSubstr("load: expected"));
  EXPECT_THAT(Refusal(With(R"("load": ["1"])")), HasSubstr("load: expected"));
  EXPECT_THAT(Refusal(With(R"("load": [1, 1], "busy": [1])")),
              HasSubstr("busy: expected 2 numbers"));
  EXPECT_THAT(Refusal(With(R"("load": [1], "heat": [1])")),
              HasSubstr("'heat'"));
  EXPECT_THAT(Refusal(R"({"format": "ferry-recording/1", "load": [1],
                          "period_seconds": 0})"),
              HasSubstr("period_seconds: expected"));
  for (const char* wrong : {"0", "1.5", "3601", "\"2\""}) {
    EXPECT_THAT(
        Refusal(With(absl::StrCat(R"("load": [1], "rate_periods": )", wrong))),
        HasSubstr("rate_periods: expected"))
        << wrong;
  }
}

TEST(SummaryTest, QuantilesAreSamples) {
  const auto summary = Summarize(Ramp(100), "load");
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->samples, 100U);
  EXPECT_DOUBLE_EQ(summary->mean, 50.5);
  EXPECT_DOUBLE_EQ(summary->p50, 50);
  EXPECT_DOUBLE_EQ(summary->p95, 95);
  EXPECT_DOUBLE_EQ(summary->peak, 100);
}

TEST(SummaryTest, FewSamplesSayNothing) {
  EXPECT_TRUE(Summarize(Ramp(kLeastSamples), "load").ok());
  const auto few = Summarize(Ramp(kLeastSamples - 1), "load");
  EXPECT_TRUE(absl::IsFailedPrecondition(few.status()));
  EXPECT_THAT(
      std::string(few.status().message()),
      HasSubstr("load is unknown: expected 30 samples or more, got 29"));
}

TEST(SummaryTest, GapsSayNothing) {
  Samples samples = Ramp(200);
  samples[7] = samples[100] = std::nullopt;
  EXPECT_TRUE(Summarize(samples, "load").ok()) << "1 %";
  samples[8] = std::nullopt;
  EXPECT_THAT(std::string(Summarize(samples, "load").status().message()),
              HasSubstr("got 3 of 200"));
}

TEST(SummaryTest, ActiveSamplesAreThoseOfPeriodsWithRequests) {
  Recording recording;
  EXPECT_EQ(ActiveSamples(recording, {1, std::nullopt, 3}).size(), 3U);
  recording.requests_per_second = {0, 5, 5, std::nullopt};
  EXPECT_EQ(ActiveSamples(recording, {1, 2, std::nullopt, 4}),
            (Samples{2, std::nullopt}));
}

// Three hours of minutes.
Recording Hours() {
  Recording recording;
  recording.period_s = 60;
  recording.size = 3 * 60;
  recording.requests_per_second.assign(recording.size, 0);
  return recording;
}

double IdleHours(const Recording& recording) {
  return CountHours(recording).value().idle;
}

TEST(CountHoursTest, HoursWithoutARequest) {
  Recording recording = Hours();
  EXPECT_EQ(CountHours(recording).value().all, 3);
  EXPECT_EQ(IdleHours(recording), 3);
  recording.requests_per_second[61] = 0.1;
  EXPECT_EQ(IdleHours(recording), 2);
  EXPECT_EQ(CountHours(recording).value().unknown, 0);
  recording.requests_per_second[179] = std::nullopt;
  EXPECT_EQ(IdleHours(recording), 1) << "that is not known";
  EXPECT_EQ(CountHours(recording).value().unknown, 1);
  recording.requests_per_second[120] = 1;
  EXPECT_EQ(CountHours(recording).value().unknown, 0) << "one came";
  recording.requests_per_second.resize(179);
  EXPECT_EQ(CountHours(recording).value().all, 2) << "whole ones";
}

TEST(CountHoursTest, RatesOverTwoPeriodsReachIntoTheHourBefore) {
  Recording recording = Hours();
  recording.requests_per_second[59] = recording.requests_per_second[60] = 0.1;
  EXPECT_EQ(IdleHours(recording), 1);
  recording.rate_periods = 2;
  EXPECT_EQ(IdleHours(recording), 2) << "they came at the end of the first";
  recording.requests_per_second[59] = 0;
  EXPECT_EQ(IdleHours(recording), 2) << "they came as the second began";
  EXPECT_EQ(IdleHours(recording) + 1, CountHours(recording).value().all);
  recording.requests_per_second[61] = recording.requests_per_second[59] = 0.1;
  EXPECT_EQ(IdleHours(recording), 1) << "and went on in the second";
}

TEST(CountHoursTest, WhatNoHourIsKnownOf) {
  Recording recording = Hours();
  recording.rate_periods = 61;
  EXPECT_FALSE(CountHours(recording).has_value())
      << "each rate is over other hours, too";
  recording = Hours();
  recording.requests_per_second.resize(59);
  EXPECT_FALSE(CountHours(recording).has_value()) << "no hour is whole";
  recording = Hours();
  recording.period_s = 25 * 60;
  EXPECT_FALSE(CountHours(recording).has_value())
      << "an hour is no whole number of these";
  EXPECT_FALSE(CountHours(Recording()).has_value());
}

}  // namespace
}  // namespace ferry::plan
