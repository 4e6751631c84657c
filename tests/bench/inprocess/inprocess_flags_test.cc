// Tests ferry-inprocess's flags: a search instead of loads, a device, a model.
#include "bench/inprocess/inprocess_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Throws CLI::ParseError where the flags do not parse.
absl::Status Parse(const std::string& text, InProcessFlags& flags) {
  CLI::App app;
  AddInProcessFlags(app, flags);
  app.parse(text);
  return Complete(flags);
}

std::string ErrorOf(const std::string& text) {
  InProcessFlags flags;
  return std::string(Parse(text, flags).message());
}

TEST(InProcessFlagsTest, LoadsAreThoseOfFerryBench) {
  InProcessFlags flags;
  ASSERT_TRUE(Parse("-m mlp --rates 100,200 --rows 2 --slo-ms 9", flags).ok());
  EXPECT_FALSE(flags.is_search);
  EXPECT_THAT(flags.options().sweep.rates, ElementsAre(100, 200));
  EXPECT_EQ(flags.options().requests.rows, 2);
  EXPECT_EQ(flags.options().slo_ms, 9);
  EXPECT_EQ(flags.options().label, "mlp");
  EXPECT_EQ(flags.selector.kind, nvml::DeviceSelector::Kind::kCpu);
}

TEST(InProcessFlagsTest, SearchTakesTheBound) {
  InProcessFlags flags;
  ASSERT_TRUE(Parse("--search --slo-ms 15 --precision 0.03", flags).ok());
  EXPECT_EQ(flags.search.slo_ms, 15);
  EXPECT_EQ(flags.search.precision, 0.03);
  EXPECT_THROW(Parse("--search", flags), CLI::RequiresError);
  for (const char* const load : {"--rates 5", "--loads 0.5", "--outstanding 2",
                                 "--scenario single-stream"}) {
    InProcessFlags other;
    EXPECT_THROW(Parse(std::string("--search --slo-ms 15 ") + load, other),
                 CLI::ExcludesError)
        << load;
  }
}

TEST(InProcessFlagsTest, ModelIsOverriddenAsInTheServer) {
  InProcessFlags flags;
  ASSERT_TRUE(Parse("--max-batch-size 7 --policy window --max-wait-ms 3 "
                    "--model-repository r --queue-requests 9 --queue-bytes 8 "
                    "--threads 2",
                    flags)
                  .ok());
  const ModelOverrides& overrides = flags.repository.overrides;
  EXPECT_EQ(flags.repository.path, "r");
  EXPECT_EQ(overrides.max_batch_size, 7);
  EXPECT_EQ(overrides.policy, PolicyKind::kWindow);
  EXPECT_EQ(overrides.max_wait, Milliseconds(3));
  EXPECT_EQ(overrides.queue_requests, 9);
  EXPECT_EQ(overrides.queue_bytes, 8);
  EXPECT_EQ(overrides.threads, 2);
}

TEST(InProcessFlagsTest, WhatCannotBeIsRefused) {
  EXPECT_THROW(ErrorOf("--processes 2"), CLI::ExtrasError)
      << "each would have a model of its own";
  EXPECT_THAT(ErrorOf("--device cuda"),
              HasSubstr("--device: expected cpu, only, cuda:N"));
  EXPECT_THAT(ErrorOf("--arrivals never --rates 1"), HasSubstr("--arrivals"));
}

TEST(InProcessFlagsTest, OfflineQueryIsPlannedWithTheModel) {
  InProcessFlags flags;
  ASSERT_TRUE(Parse("--scenario offline:100", flags).ok());
  PlanOfflineRun(8, 1, flags.options());
  ASSERT_TRUE(flags.options().sweep.offline.has_value());
  EXPECT_EQ(flags.options().sweep.offline->requests, 13U);
  EXPECT_EQ(flags.options().requests.rows, 8);
}

}  // namespace
}  // namespace ferry::bench
