// Tests that the flags of ferry-launch are read, and which slices they give.
#include "deploy/launch/launch_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "deploy/launch/find_slices.h"

namespace ferry::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<LaunchOptions> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "ferry-launch");
  return ParseLaunchOptions(static_cast<int>(arguments.size()),
                            arguments.data());
}

std::string ErrorOf(const std::vector<const char*>& arguments) {
  const auto options = Parse(arguments);
  EXPECT_FALSE(options.ok());
  return std::string(options.status().message());
}

TEST(LaunchOptionsTest, WhatFollowsTheDashesIsTheServers) {
  const auto options =
      Parse({"--servers", "3", "--", "--model=m.pt", "--servers=9", "--"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->cpu_servers, 3);
  EXPECT_THAT(options->plan.server_arguments,
              ElementsAre("--model=m.pt", "--servers=9", "--"));
  const auto slices = FindSlices(*options);
  ASSERT_TRUE(slices.ok());
  EXPECT_EQ(slices->size(), 3u);
  EXPECT_EQ(slices->front().uuid, "");
}

TEST(LaunchOptionsTest, SlicesByHand) {
  const auto options =
      Parse({"--slices=MIG-a,GPU-b", "--slices=MIG-c", "--labels", "x,y,z"});
  ASSERT_TRUE(options.ok()) << options.status();
  const auto slices = FindSlices(*options);
  ASSERT_TRUE(slices.ok());
  ASSERT_EQ(slices->size(), 3u);
  EXPECT_EQ(slices->back().uuid, "MIG-c");
  EXPECT_THAT(options->plan.labels, ElementsAre("x", "y", "z"));
}

TEST(LaunchOptionsTest, SlicesThatNvmlLists) {
  const auto gpu = [](const char* uuid, bool is_mig_on) {
    nvml::Gpu one;
    one.uuid = uuid;
    one.is_mig_on = is_mig_on;
    return one;
  };
  nvml::Gpu parted = gpu("GPU-a", true);
  parted.mig_devices.resize(2);
  parted.mig_devices[0].uuid = "MIG-1";
  parted.mig_devices[0].profile = "1g.18gb";
  parted.mig_devices[0].memory_bytes = uint64_t{16} << 30;
  parted.mig_devices[1].uuid = "MIG-2";
  nvml::Devices devices;
  devices.gpus = {parted, gpu("GPU-b", false), gpu("GPU-c", true)};
  const auto slices = SlicesOf(devices);
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0].uuid, "MIG-1");
  EXPECT_EQ(slices[0].profile, "1g.18gb");
  EXPECT_EQ(slices[0].memory_bytes, int64_t{16} << 30);
  EXPECT_EQ(slices[1].uuid, "MIG-2");
  EXPECT_EQ(slices[2].uuid, "GPU-b");
  EXPECT_EQ(slices[2].profile, "");
  EXPECT_EQ(slices[2].numa_node, -1);
}

TEST(LaunchOptionsTest, TimesAreSeconds) {
  const auto options =
      Parse({"--restart-delay-secs=0.25", "--healthy-secs=2",
             "--restart-max-delay-secs=4", "--hang-timeout-secs=25",
             "--stop-timeout-secs=7", "--dry-run"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->supervisor.back_off.first, Milliseconds(250));
  EXPECT_EQ(options->supervisor.back_off.most, Milliseconds(4000));
  EXPECT_EQ(options->supervisor.back_off.healthy, Milliseconds(2000));
  EXPECT_EQ(options->supervisor.hang_timeout, Milliseconds(25'000));
  EXPECT_EQ(options->supervisor.stop_timeout, Milliseconds(7000));
  EXPECT_EQ(options->action, LaunchOptions::Action::kPrintPlan);
}

TEST(LaunchOptionsTest, WrongFlagsAreRefused) {
  EXPECT_THAT(ErrorOf({"--servers=0"}), HasSubstr("--servers"));
  EXPECT_THAT(ErrorOf({"--servers=1", "--slices=MIG-a"}),
              HasSubstr("--slices"));
  for (const std::string wrong : {"0", "cpu", "only", "cuda:0", "GPU-nonsense",
                                  "MIG-", "MIG-GPU-a/1/0"}) {
    EXPECT_THAT(ErrorOf({"--slices", wrong.c_str()}),
                HasSubstr("got '" + wrong + "'"));
  }
  EXPECT_THAT(ErrorOf({"--server=", "--servers=2"}),
              HasSubstr("expected a value after --server=, got none"));
  EXPECT_THAT(ErrorOf({"--restart-delay-secs=nan"}), HasSubstr("nan"));
  EXPECT_THAT(ErrorOf({"--restart-delay-secs=9", "--restart-max-delay-secs=8"}),
              HasSubstr("expected at least --restart-delay-secs"));
  EXPECT_THAT(ErrorOf({"--model-repository=m"}), HasSubstr("see --help"));
  EXPECT_THAT(ErrorOf({"--servers=2", "--", "--exit-timeout-secs=60"}),
              HasSubstr("expected more than the servers' --exit-timeout-secs, "
                        "60, got 30"));
  EXPECT_THAT(
      ErrorOf({"--hang-timeout-secs=9", "--", "--exit-timeout-secs", "10"}),
      HasSubstr("--exit-timeout-secs, 10, got 9"));
  EXPECT_THAT(ErrorOf({"--hang-timeout-secs=20"}),
              HasSubstr("--exit-timeout-secs, 20, got 20"));
  for (const char* hang : {"--hang-timeout-secs=0", "--hang-timeout-secs=61"}) {
    EXPECT_TRUE(Parse({hang, "--", "--exit-timeout-secs=60"}).ok());
  }
}

TEST(LaunchOptionsTest, HelpIsText) {
  const auto options = Parse({"--help"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->action, LaunchOptions::Action::kPrint);
  EXPECT_THAT(options->text, HasSubstr("--stop-timeout-secs"));
}

}  // namespace
}  // namespace ferry::launch
