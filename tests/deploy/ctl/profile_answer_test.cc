// Tests the verdict on recordings, and that none is given where one is unknown.
#include "deploy/ctl/profile_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// An hour, a sample a minute.
plan::Recording Hour(double load) {
  plan::Recording recording;
  recording.period_s = 60;
  recording.size = 60;
  recording.signals[plan::Signal::kLoad].assign(60, load);
  return recording;
}

std::string Refusal(const plan::Recording& recording,
                    const ProfileQuestion& question) {
  return std::string(ProfileAnswer(recording, question).status().message());
}

TEST(ProfileAnswerTest, TheVerdictIsOnTheMeanOfTheLoad) {
  const auto low = ProfileAnswer(Hour(0.2), {});
  ASSERT_TRUE(low.ok()) << low.status();
  EXPECT_THAT(low->sentence,
              StartsWith("'consolidate': load was 20.0 % on average"));
  EXPECT_EQ(low->gravest(), Severity::kWarning);
  const auto right = ProfileAnswer(Hour(0.7), {});
  EXPECT_THAT(right->sentence, StartsWith("'target'"));
  EXPECT_EQ(right->gravest(), Severity::kNote);
  EXPECT_THAT(ProfileAnswer(Hour(1.3), {})->sentence,
              StartsWith("'scale_out'"));
}

TEST(ProfileAnswerTest, BusyIsToldBeside) {
  plan::Recording recording = Hour(0.2);
  recording.signals[plan::Signal::kBusy].assign(60, 0.99);
  const auto answer = ProfileAnswer(recording, {});
  EXPECT_THAT(AnswerText(*answer),
              HasSubstr("busy, 99.0 %, would be 'scale_out'"));
  EXPECT_THAT(answer->sentence, StartsWith("'consolidate'"));
  const auto by_busy =
      ProfileAnswer(recording, {.signal = plan::Signal::kBusy});
  EXPECT_THAT(by_busy->sentence, StartsWith("'scale_out': busy"));
}

TEST(ProfileAnswerTest, WhatRequestsMakeIsOfThePeriodsWithRequests) {
  plan::Recording recording = Hour(0.2);
  recording.requests_per_second.assign(60, 0);
  auto& fill = recording.signals[plan::Signal::kBatchFill];
  fill.assign(60, std::nullopt);
  for (size_t i = 0; i < 30; ++i) {
    recording.requests_per_second[i] = 9;
    fill[i] = 0.25;
  }
  const auto answer = ProfileAnswer(recording, {});
  EXPECT_THAT(AnswerText(*answer),
              AllOf(HasSubstr("batch_fill %  25.0  25.0  25.0  25.0       30"),
                    HasSubstr("load %        20.0  20.0  20.0  20.0       60"),
                    Not(HasSubstr("unknown"))));
}

TEST(ProfileAnswerTest, MemoryIsJudgedAtItsPeak) {
  plan::Recording recording = Hour(0.7);
  auto& memory = recording.signals[plan::Signal::kMemory];
  memory.assign(60, 0.5);
  memory[30] = 0.96;
  EXPECT_THAT(ProfileAnswer(recording, {.policy = "s1-memory"})->sentence,
              AllOf(StartsWith("'runs_out'"), HasSubstr("at its peak")));
}

TEST(ProfileAnswerTest, WhatIsNotSampledIsUnknown) {
  EXPECT_THAT(Refusal(Hour(0.1), {.policy = "s1-sm"}),
              HasSubstr("sm is unknown: expected 30 samples or more, got 0"));
  plan::Recording gaps = Hour(0.1);
  gaps.signals[plan::Signal::kLoad][3] = std::nullopt;
  EXPECT_THAT(Refusal(gaps, {}), HasSubstr("got 1 of 60"));
}

TEST(ProfileAnswerTest, AWeekIsAskedForByTheWeeksPolicy) {
  EXPECT_THAT(Refusal(Hour(0.1), {.policy = "s2-week"}),
              HasSubstr("expected a recording of 168 hours or more, got 1"));
  plan::Recording week;
  week.period_s = 3600;
  week.size = 168;
  week.signals[plan::Signal::kLoad].assign(168, 0.35);
  week.requests_per_second.assign(168, 0);
  const auto answer = ProfileAnswer(week, {.policy = "s2-week"});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->sentence, StartsWith("'overprovisioned'"));
  EXPECT_EQ(answer->numbers.front().value, 168);
}

TEST(ProfileAnswerTest, WrongQuestionsAreRefused) {
  EXPECT_THAT(Refusal(Hour(0.1), {.policy = "s9"}), HasSubstr("got 's9'"));
  EXPECT_THAT(
      Refusal(Hour(0.1), {.policy = "s1-sm", .signal = plan::Signal::kLoad}),
      HasSubstr("expected 'sm', which s1-sm is of, got 'load'"));
}

}  // namespace
}  // namespace ferry::ctl
