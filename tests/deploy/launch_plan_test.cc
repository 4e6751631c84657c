// Tests that the slices get the right servers and wrong arguments are refused.
#include "deploy/launch/launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Slice kFirst = {.uuid = "MIG-1",
                      .profile = "1g.18gb",
                      .memory_bytes = int64_t{18432} << 20,
                      .numa_node = 1};
const Slice kSecond = {.uuid = "MIG-2"};

PlanOptions Options() {
  PlanOptions options;
  options.server = "/bin/server";
  return options;
}

std::string ErrorOf(const PlanOptions& options,
                    const std::vector<Slice>& slices) {
  const auto plans = MakePlan(options, slices);
  EXPECT_EQ(plans.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(plans.status().message());
}

TEST(LaunchPlanTest, OneServerASlice) {
  const auto plans = MakePlan(Options(), {kFirst, kSecond});
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), 2u);
  const ServerPlan& first = plans->front();
  EXPECT_EQ(first.label, "1g.18gb-0");
  EXPECT_THAT(first.environment, ElementsAre("CUDA_VISIBLE_DEVICES=MIG-1"));
  EXPECT_THAT(first.command,
              ElementsAre("/bin/server", "--grpc-address=127.0.0.1",
                          "--grpc-port=8101", "--metrics-address=127.0.0.1",
                          "--metrics-port=8201", "--device=MIG-1"));
  const ServerPlan& second = plans->back();
  EXPECT_EQ(second.label, "slice-1");
  EXPECT_EQ(second.grpc_port, 8102);
  EXPECT_EQ(second.metrics_port, 8202);
  EXPECT_THAT(second.environment, ElementsAre("CUDA_VISIBLE_DEVICES=MIG-2"));
}

TEST(LaunchPlanTest, OnTheCpuNoDeviceIsNamed) {
  const auto plans = MakePlan(Options(), {Slice{}, Slice{}});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(plans->back().label, "cpu-1");
  EXPECT_THAT(plans->back().environment, IsEmpty());
}

TEST(LaunchPlanTest, PlaceholdersAreFilled) {
  PlanOptions options = Options();
  options.server_arguments = {
      "--a={label}/{index}", "{uuid},{profile},{memory_mib},{numa_node}",
      "{grpc_port}:{metrics_port}", "{\"json\": {}}{", "plain"};
  const auto plans = MakePlan(options, {kFirst});
  ASSERT_TRUE(plans.ok()) << plans.status();
  const std::vector<std::string>& command = plans->front().command;
  EXPECT_THAT(std::vector<std::string>(command.begin() + 6, command.end()),
              ElementsAre("--a=1g.18gb-0/0", "MIG-1,1g.18gb,18432,1",
                          "8101:8201", "{\"json\": {}}{", "plain"));
}

TEST(LaunchPlanTest, EachServerHasAUnixSocketOfItsOwn) {
  PlanOptions options = Options();
  options.grpc_address = "unix:/run/ferry/{label}.sock";
  const auto plans = MakePlan(options, {kFirst, kSecond});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(plans->front().grpc_address, "unix:/run/ferry/1g.18gb-0.sock");
  EXPECT_EQ(plans->back().command[1],
            "--grpc-address=unix:/run/ferry/slice-1.sock");
  options.grpc_address = "unix:/run/ferry.sock";
  EXPECT_TRUE(MakePlan(options, {kFirst}).ok());
  EXPECT_THAT(ErrorOf(options, {kFirst, kSecond}),
              HasSubstr("got 'unix:/run/ferry.sock' twice"));
  options.grpc_address = "unix:/run/{no}.sock";
  EXPECT_THAT(ErrorOf(options, {kFirst}), HasSubstr("got {no}"));
}

TEST(LaunchPlanTest, LabelsOfProfilesThatAreNone) {
  Slice slice = kFirst;
  slice.profile = "1g.18gb+me";
  const auto plans = MakePlan(Options(), {slice});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(plans->front().label, "1g.18gb.me-0");
}

TEST(LaunchPlanTest, DeviceIsTheSlices) {
  PlanOptions options = Options();
  options.server_arguments = {"--device=cpu"};
  EXPECT_THAT(ErrorOf(options, {kFirst}), HasSubstr("'--device=cpu'"));
  // Two servers on one GPU, which the launcher says are on the CPU.
  options.server_arguments = {"--device=cuda:0"};
  EXPECT_THAT(ErrorOf(options, {Slice{}, Slice{}}),
              HasSubstr("'--device=cuda:0'"));
  options.server_arguments = {"--device", "cuda:0"};
  EXPECT_THAT(ErrorOf(options, {Slice{}}), HasSubstr("'--device'"));
}

TEST(LaunchPlanTest, WrongArgumentsAreRefused) {
  PlanOptions options = Options();
  options.server_arguments = {"--x={port}"};
  EXPECT_THAT(ErrorOf(options, {kFirst}), HasSubstr("{uuid}, got {port}"));
  for (const char* const own : {"--grpc-port=1", "--metrics-port",
                                "--grpc-address=::", "--metrics-address=::"}) {
    options.server_arguments = {own};
    EXPECT_THAT(ErrorOf(options, {kFirst}), HasSubstr("before the --"));
  }
}

TEST(LaunchPlanTest, HealthIsAskedForOverTlsAndWithoutAToken) {
  PlanOptions options = Options();
  EXPECT_FALSE(MakePlan(options, {kFirst})->front().has_tls);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--tls-cert=c", "--tls-key=k"},
        {"--tls-cert", "c", "--tls-key", "k"}}) {
    options.server_arguments = arguments;
    const auto plans = MakePlan(options, {kFirst});
    ASSERT_TRUE(plans.ok()) << plans.status();
    EXPECT_TRUE(plans->front().has_tls);
  }
  options.server_arguments = {"--auth-token-file=t"};
  EXPECT_THAT(ErrorOf(options, {kFirst}), HasSubstr("expected --open-health"));
  options.server_arguments = {"--auth-token-file=t", "--open-health"};
  EXPECT_TRUE(MakePlan(options, {kFirst}).ok());
}

TEST(LaunchPlanTest, WrongSlicesAndLabelsAreRefused) {
  PlanOptions options = Options();
  EXPECT_THAT(ErrorOf(options, {}), HasSubstr("at least one slice"));
  EXPECT_THAT(ErrorOf(options, {kFirst, kFirst}), HasSubstr("given twice"));
  EXPECT_THAT(ErrorOf(options, {{.uuid = "GPU-ab"}, {.uuid = "GPU-Abc"}}),
              HasSubstr("'GPU-Abc' is given twice, once as 'GPU-ab'"));
  options.labels = {"a"};
  EXPECT_THAT(ErrorOf(options, {kFirst, kSecond}),
              HasSubstr("one for each of 2 servers, got 1"));
  options.labels = {"a", "a"};
  EXPECT_THAT(ErrorOf(options, {kFirst, kSecond}), HasSubstr("given twice"));
  options.labels = {"a", "b/c"};
  EXPECT_THAT(ErrorOf(options, {kFirst, kSecond}), HasSubstr("got 'b/c'"));
}

TEST(LaunchPlanTest, PortsMustNotMeet) {
  PlanOptions options = Options();
  options.metrics_port = options.grpc_port + 1;
  EXPECT_TRUE(MakePlan(options, {kFirst}).ok());
  EXPECT_THAT(ErrorOf(options, {kFirst, kSecond}), HasSubstr("8101 and 8102"));
  options.metrics_port = 65535;
  EXPECT_TRUE(MakePlan(options, {kFirst}).ok());
  EXPECT_THAT(ErrorOf(options, {kFirst, kSecond}),
              HasSubstr("got the first at 65535"));
}

TEST(LaunchPlanTest, ShellLineIsQuoted) {
  PlanOptions options = Options();
  options.server_arguments = {"--name=it's me", "--x=*"};
  const auto plans = MakePlan(options, {kSecond});
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_THAT(ToShellLine(plans->front()),
              HasSubstr("--device=MIG-2 '--name=it'\\''s me' '--x=*'"));
  EXPECT_THAT(ToShellLine(plans->front()),
              testing::StartsWith("CUDA_VISIBLE_DEVICES=MIG-2 /bin/server "));
}

}  // namespace
}  // namespace ferry::launch
