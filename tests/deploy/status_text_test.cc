// Tests that a server's state is told in a line and in JSON.
#include "deploy/launch/status_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ferry::launch {
namespace {

TimePoint At(double seconds) { return TimePoint(Milliseconds(seconds * 1000)); }

const ServerPlan kPlan = {
    .label = "a-0",
    .slice = {.uuid = "MIG-1", .profile = "1g.18gb"},
    .grpc_address = "127.0.0.1",
    .grpc_port = 8001,
    .metrics_address = "::1",
    .metrics_port = 8101,
};

TEST(StatusTextTest, LineOfAReadyServer) {
  ServerLife life({}, At(0));
  life.Started();
  life.Answered(true, At(1));
  EXPECT_EQ(StatusLine({&kPlan, &life, 12}, At(1)),
            "a-0 ready pid=12 grpc=127.0.0.1:8001 metrics=[::1]:8101 "
            "restarts=0 device=MIG-1 profile=1g.18gb");
}

TEST(StatusTextTest, LineOfAServerThatWaits) {
  ServerLife life({}, At(0));
  life.Started();
  life.Ended({.code = 1}, At(1));
  ServerPlan plan = kPlan;
  plan.slice = {};
  EXPECT_EQ(
      StatusLine({&plan, &life, 0}, At(1)),
      "a-0 waiting grpc=127.0.0.1:8001 metrics=[::1]:8101 restarts=0 "
      "device=cpu failed_starts=1 last_end=\"exit code 1 (could not start)\" "
      "restart_in=0.5s");
}

TEST(StatusTextTest, JsonHoldsAll) {
  ServerLife running({}, At(0));
  running.Started();
  ServerLife failed({}, At(0));
  failed.Started();
  failed.Ended({.signal = 9}, At(1));
  const auto json = nlohmann::json::parse(
      StatusJson({{&kPlan, &running, 12}, {&kPlan, &failed, 0}}));
  const auto& servers = json.at("servers");
  ASSERT_EQ(servers.size(), 2u);
  EXPECT_EQ(servers[0].at("state"), "starting");
  EXPECT_EQ(servers[0].at("pid"), 12);
  EXPECT_TRUE(servers[0].at("last_end").is_null());
  EXPECT_EQ(servers[0].at("device"), "MIG-1");
  EXPECT_EQ(servers[0].at("failed_starts"), 0);
  EXPECT_EQ(servers[1].at("failed_starts"), 1);
  EXPECT_EQ(servers[1].at("state"), "waiting");
  EXPECT_TRUE(servers[1].at("pid").is_null());
  EXPECT_EQ(servers[1].at("last_end"), "SIGKILL");
}

}  // namespace
}  // namespace ferry::launch
