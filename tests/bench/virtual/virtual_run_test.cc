// Tests that RunVirtual is deterministic, balanced, and as fast as its device.
#include "bench/virtual/virtual_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "bench/virtual/virtual_summary.h"

namespace ferry::bench {
namespace {

// s(b) = 1 ms + 0.1 ms * b, at most 32 rows: 7619 rows/s.
VirtualRunOptions Options(double load) {
  VirtualRunOptions options;
  options.scheduler.max_batch_size = 32;
  options.device.max_batch_size = 32;
  options.classes.push_back({.per_second = load * 32 / 4.2e-3});
  options.duration = std::chrono::seconds(2);
  return options;
}

std::vector<VirtualRecord> Play(const VirtualRunOptions& options,
                                VirtualRunResult* result = nullptr) {
  std::vector<VirtualRecord> records;
  auto run = RunVirtual(
      options, [&](const VirtualRecord& record) { records.push_back(record); });
  EXPECT_TRUE(run.ok()) << run.status();
  if (result != nullptr) {
    *result = *std::move(run);
  }
  return records;
}

TEST(VirtualRun, SameOptionsGiveTheSameLog) {
  VirtualRunOptions options = Options(0.7);
  options.device.jitter = 0.1;
  const auto a = Play(options);
  const auto b = Play(options);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].arrival, b[i].arrival);
    EXPECT_EQ(a[i].end, b[i].end);
  }
  options.seed = 2;
  EXPECT_NE(Play(options).front().arrival, a.front().arrival);
}

double MeanMs(const std::vector<VirtualRecord>& records) {
  Duration sum{0};
  for (const VirtualRecord& record : records) {
    sum += record.end - record.arrival;
  }
  return std::chrono::duration<double, std::milli>(sum).count() /
         static_cast<double>(records.size());
}

// Padded to 8 or 32 rows, a batch takes 1.8 or 4.2 ms.
TEST(VirtualRun, BatcherThatKnowsTheBucketsPadsLess) {
  VirtualRunOptions options = Options(0.5);
  options.device.buckets = {8, 32};
  const double pads_ms = MeanMs(Play(options));
  options.scheduler.buckets = options.device.buckets;
  EXPECT_LT(MeanMs(Play(options)), 0.8 * pads_ms);
}

TEST(VirtualRun, EveryRequestEndsOnceAndInItsTime) {
  VirtualRunResult result{.counted = SchedulerStatistics(1)};
  const auto records = Play(Options(0.5), &result);
  EXPECT_NEAR(static_cast<double>(records.size()), 7619, 300);
  for (const VirtualRecord& record : records) {
    EXPECT_EQ(record.code, absl::StatusCode::kOk);
    EXPECT_GE(record.end - record.arrival, Milliseconds(1.1));
  }
  EXPECT_EQ(result.rows, std::ssize(records));
  EXPECT_LE(result.busy, std::chrono::seconds(2));
}

// A full batch computes for 4.2 ms and is copied in for 2.1 ms.
TEST(VirtualRun, WithTwoInFlightCopiesGoBesideTheCompute) {
  VirtualRunOptions options = Options(1.5);
  options.streams =
      VirtualStreamsOptions{.max_in_flight = 2,
                            .max_batch_size = 32,
                            .copy_in = {Milliseconds(0.5), Milliseconds(0.05)},
                            .compute = {Milliseconds(1), Milliseconds(0.1)}};
  VirtualRunResult result{.counted = SchedulerStatistics(1)};
  int64_t ok = 0;
  for (const VirtualRecord& record : Play(options, &result)) {
    ok += record.code == absl::StatusCode::kOk;
  }
  EXPECT_EQ(result.rows, ok);
  EXPECT_GT(result.batches, 400);
  EXPECT_LE(result.busy, options.duration);
  EXPECT_GE(result.busy, 0.98 * options.duration);
  options.streams->max_in_flight = 1;
  Play(options, &result);
  EXPECT_NEAR(static_cast<double>(result.busy.count()),
              static_cast<double>(options.duration.count()) * 4.2 / 6.3,
              static_cast<double>(options.duration.count()) * 0.02);
}

TEST(VirtualRun, OverloadIsCarriedAtSaturation) {
  VirtualRunOptions options = Options(1.5);
  options.classes[0].timeout = Milliseconds(42);
  std::map<absl::StatusCode, int> codes;
  int in_time = 0;
  for (const VirtualRecord& record : Play(options)) {
    ++codes[record.code];
    in_time += record.code == absl::StatusCode::kOk &&
               record.end - record.arrival <= Milliseconds(42);
  }
  EXPECT_EQ(in_time, codes[absl::StatusCode::kOk]);
  EXPECT_GT(in_time, 0.97 * 2 * 7619);
  EXPECT_GT(codes[absl::StatusCode::kResourceExhausted], 0);
  EXPECT_LT(codes[absl::StatusCode::kDeadlineExceeded], 0.01 * in_time);
}

TEST(VirtualSummaryTest, TextSaysWhyAnEagerDeviceIsBusyAtHalfOfItsLoad) {
  const auto said = [](double load, Duration timeout = Duration(0)) {
    VirtualRunOptions options = Options(load);
    options.scheduler.policy = PolicyKind::kEager;
    options.classes[0].timeout = timeout;
    VirtualSummary summary(options);
    const auto run = RunVirtual(
        options, [&](const VirtualRecord& record) { summary.Add(record); });
    EXPECT_TRUE(run.ok()) << run.status();
    return summary.ToText(*run);
  };
  EXPECT_THAT(
      said(0.5),
      testing::MatchesRegex("eager: [0-9]+ rows/s, (49|50|51) % of saturation, "
                            "at [0-9.]+ rows a batch; busy (9[0-9]|100) % of "
                            "the time, since .*this is no sign of "
                            "saturation\n"));
  const auto claims_headroom = testing::HasSubstr("no sign");
  EXPECT_THAT(said(1.5), testing::Not(claims_headroom));
  // What is refused, dropped or late makes goodput low, too.
  EXPECT_THAT(said(0.9, Milliseconds(2.5)), testing::Not(claims_headroom));
}

TEST(VirtualRun, WrongOptionsAreRefused) {
  VirtualRunOptions options = Options(0.5);
  options.scheduler.max_wait = Duration(-1);
  EXPECT_FALSE(RunVirtual(options, [](const VirtualRecord&) {}).ok());
}

}  // namespace
}  // namespace ferry::bench
