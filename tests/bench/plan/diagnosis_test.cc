// Tests that recordings with known causes have these and no other found, and
// healthy ones none.
#include "bench/plan/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace ferry::plan {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kSamples = 60;

// Requests that come by themselves: how many are under way goes with how many
// come, and with how long they take.
Recording With(const std::map<Signal, double>& means) {
  Recording recording;
  recording.size = kSamples;
  for (const auto& [signal, mean] : means) {
    Samples& column = recording.signals[signal];
    for (size_t i = 0; i < kSamples; ++i) {
      column.emplace_back(mean * (i % 2 == 0 ? 1.02 : 0.98));
    }
  }
  for (size_t i = 0; i < kSamples; ++i) {
    const double wave = std::sin(static_cast<double>(i));
    recording.requests_per_second.emplace_back(100 * (1 + 0.1 * wave));
    recording.requests_under_way.emplace_back(4 * (1 + 0.2 * wave));
  }
  return recording;
}

// A device at work that nothing holds up, with what its own counters say.
std::map<Signal, double> Healthy() {
  return {{Signal::kLoad, 0.7},      {Signal::kBusy, 0.9},
          {Signal::kSm, 0.65},       {Signal::kMemory, 0.5},
          {Signal::kDram, 0.45},     {Signal::kPcie, 0.2},
          {Signal::kBatchFill, 0.7}, {Signal::kStage, 0.1},
          {Signal::kPadding, 0.05},  {Signal::kRefused, 0}};
}

std::map<Signal, double> HealthyBut(const std::map<Signal, double>& changes) {
  std::map<Signal, double> means = Healthy();
  for (const auto& [signal, mean] : changes) {
    means[signal] = mean;
  }
  return means;
}

std::vector<std::string> NamesOf(const Recording& recording) {
  const auto diagnosis = Diagnose(recording);
  EXPECT_TRUE(diagnosis.ok()) << diagnosis.status();
  std::vector<std::string> names;
  for (const FoundCause& found : diagnosis->found) {
    names.emplace_back(found.cause.name);
  }
  return names;
}

TEST(DiagnosisTest, HealthyRecordingsHaveNone) {
  EXPECT_THAT(NamesOf(With(Healthy())), IsEmpty());
  // Little comes, and batches are small as they may be.
  EXPECT_THAT(NamesOf(With(HealthyBut({{Signal::kLoad, 0.2},
                                       {Signal::kBusy, 0.3},
                                       {Signal::kSm, 0.1},
                                       {Signal::kDram, 0.1},
                                       {Signal::kBatchFill, 0.1},
                                       {Signal::kStage, 0.3}}))),
              IsEmpty());
}

TEST(DiagnosisTest, EachCauseIsFoundAlone) {
  const std::map<std::string, std::map<Signal, double>> known = {
      {"small_batches",
       {{Signal::kBusy, 0.95},
        {Signal::kBatchFill, 0.08},
        {Signal::kLoad, 0.25},
        {Signal::kSm, 0.2},
        {Signal::kDram, 0.2}}},
      {"host_stage",
       {{Signal::kStage, 0.6}, {Signal::kBusy, 0.4}, {Signal::kSm, 0.3}}},
      {"dram_bound", {{Signal::kDram, 0.8}}},
      {"pcie_bound", {{Signal::kPcie, 0.75}}},
      {"concurrency_limit", {{Signal::kRefused, 0.05}, {Signal::kLoad, 0.4}}},
      {"launch_bound", {{Signal::kSm, 0.15}, {Signal::kDram, 0.1}}},
      {"padding", {{Signal::kPadding, 0.4}}}};
  for (const auto& [name, changes] : known) {
    const Recording recording = With(HealthyBut(changes));
    EXPECT_THAT(NamesOf(recording), ElementsAre(name));
    EXPECT_EQ(Diagnose(recording)->found.front().confidence, Confidence::kHigh)
        << name;
  }
}

// The device waits for its clients, and has small batches for that.
std::map<Signal, double> Waiting() {
  return HealthyBut(
      {{Signal::kBusy, 0.95}, {Signal::kBatchFill, 0.1}, {Signal::kLoad, 0.3}});
}

TEST(DiagnosisTest, ClientsThatWaitForAnswersExplainSmallBatches) {
  Recording recording = With(Waiting());
  EXPECT_THAT(NamesOf(recording), ElementsAre("small_batches"));
  recording.requests_under_way.assign(kSamples, 4);
  EXPECT_THAT(NamesOf(recording), ElementsAre("client_limited"));
  EXPECT_EQ(Diagnose(recording)->found.front().confidence, Confidence::kHigh);
}

TEST(DiagnosisTest, AFixedPaceMayBeTheClientsOwn) {
  Recording recording = With(Waiting());
  recording.requests_under_way.assign(kSamples, 4);
  recording.requests_per_second.assign(kSamples, 100);
  EXPECT_THAT(NamesOf(recording), ElementsAre("client_limited"));
  EXPECT_EQ(Diagnose(recording)->found.front().confidence, Confidence::kLow);
}

TEST(DiagnosisTest, EvidenceNamesSignalMeanAndBound) {
  const auto diagnosis = Diagnose(With(HealthyBut({{Signal::kPadding, 0.4}})));
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  EXPECT_THAT(diagnosis->found.front().evidence,
              ElementsAre("padding 40.0 % (>= 25 %)", "busy 90.0 % (>= 50 %)"));
  EXPECT_EQ(diagnosis->samples, kSamples);
}

TEST(DiagnosisTest, WhatWasNotSampledIsNotKnown) {
  std::map<Signal, double> means = HealthyBut({{Signal::kDram, 0.8}});
  means.erase(Signal::kPcie);
  means.erase(Signal::kBusy);
  const auto diagnosis = Diagnose(With(means));
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  ASSERT_EQ(diagnosis->found.size(), 1U);
  EXPECT_STREQ(diagnosis->found.front().cause.name, "dram_bound");
  EXPECT_EQ(diagnosis->found.front().confidence, Confidence::kLow);
  std::vector<std::string> unknown;
  for (const UnknownCause& one : diagnosis->unknown) {
    unknown.push_back(absl::StrCat(one.cause.name, ": ", one.reason));
  }
  // What speaks against a cause does, whatever else is missing.
  EXPECT_THAT(unknown, ElementsAre("pcie_bound: pcie was not sampled"));
}

TEST(DiagnosisTest, NothingIsFoundWhereNothingIsKnown) {
  Recording recording;
  recording.size = kSamples;
  recording.signals[Signal::kMemory].assign(kSamples, 0.5);
  EXPECT_THAT(std::string(Diagnose(recording).status().message()),
              HasSubstr("no cause is known"));
  recording = With(HealthyBut({{Signal::kPadding, 0.4}}));
  recording.size = 20;
  for (auto& [signal, column] : recording.signals) {
    column.resize(20);
  }
  recording.requests_per_second.resize(20);
  recording.requests_under_way.resize(20);
  EXPECT_EQ(Diagnose(recording).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(DiagnosisTest, MeansAreOfThePeriodsWithRequests) {
  Recording recording = With(HealthyBut({{Signal::kPadding, 0.4}}));
  recording.size += kSamples;
  for (auto& [signal, column] : recording.signals) {
    column.resize(2 * kSamples, 0.0);
  }
  recording.requests_per_second.resize(2 * kSamples, 0.0);
  recording.requests_under_way.resize(2 * kSamples, 0.0);
  EXPECT_THAT(NamesOf(recording), ElementsAre("padding"));
  EXPECT_EQ(Diagnose(recording)->samples, kSamples);
}

TEST(DiagnosisTest, EachCauseSaysWhatToChange) {
  for (const Cause& cause : Causes()) {
    EXPECT_FALSE(std::string(cause.setting).empty()) << cause.name;
    EXPECT_FALSE(cause.symptoms.empty()) << cause.name;
  }
}

}  // namespace
}  // namespace ferry::plan
