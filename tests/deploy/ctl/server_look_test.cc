// Tests what is read in the pages of a server, and in pages of others.
#include "deploy/ctl/server_look.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace ferry::ctl {
namespace {

constexpr char kStatus[] = R"({
  "format": "ferry-status/1", "server_version": "0.1.0", "state": "incomplete",
  "ready": false, "period_seconds": 5, "seconds_ago": [7.1, 2.1],
  "versions": [
    {"name": "lost", "version": "", "state": "UNAVAILABLE",
     "reason": "no config"},
    {"name": "m", "version": "2", "state": "READY", "reason": ""},
    {"name": "m", "version": "10", "state": "READY", "reason": ""}],
  "models": [
    {"name": "m", "version": "10", "samples": {
      "requests_per_second": [null, 812.5], "refused_per_second": [null, 3],
      "p50_ms": [1.5, 2.5], "p99_ms": [4, 8.25], "rows_per_batch": [1, null]}}],
  "device": {"name": "NVIDIA H200", "profile": "1g.18gb",
    "memory_total_bytes": 17179869184, "power_limit_watts": null,
    "samples": {"busy_ratio": [0.1, 0.5], "sm_ratio": [0.2, 0.25],
      "memory_used_bytes": [1, 4294967296], "power_watts": [90, 120],
      "temperature_celsius": [50, null]}}})";
constexpr char kMetrics[] =
    "# TYPE ferry_load_5s_ratio gauge\n"
    "ferry_load_5s_ratio{model=\"m\",version=\"2\"} 0.9\n"
    "ferry_load_5s_ratio{model=\"m\",version=\"10\"} 0.375\n"
    "ferry_queue_requests{model=\"m\",version=\"10\"} 6\n"
    "ferry_queue_requests_limit{model=\"m\",version=\"10\"} 4096\n"
    "ferry_refused_total{model=\"m\",reason=\"queue_requests\"} 4\n"
    "ferry_refused_total{model=\"n\",reason=\"queue_requests\"} 1\n"
    "ferry_refused_total{model=\"m\",reason=\"expired\"} 0\n"
    "process_start_time_seconds 1.7e9\n";

TEST(ParseLookTest, FactsAreOfTheLastSampleAndOfNow) {
  const auto look = ParseLook("host:1", kStatus, kMetrics);
  ASSERT_TRUE(look.ok()) << look.status();
  EXPECT_EQ(look->address, "host:1");
  EXPECT_TRUE(look->failure.ok());
  EXPECT_EQ(look->server_version, "0.1.0");
  EXPECT_EQ(look->state, "incomplete");
  EXPECT_FALSE(look->is_ready);
  EXPECT_EQ(look->start_s, 1.7e9);
  EXPECT_EQ(look->refusals,
            (std::map<std::string, double>{{"queue_requests", 5}}));
  ASSERT_EQ(look->versions.size(), 3U);
  const VersionLook& served = look->versions[2];
  EXPECT_EQ(served.version, "10");
  EXPECT_EQ(served.load, 0.375);
  EXPECT_EQ(served.queued_requests, 6);
  EXPECT_EQ(served.requests_per_second, 812.5);
  EXPECT_EQ(served.refused_per_second, 3);
  EXPECT_EQ(served.p50_ms, 2.5);
  EXPECT_EQ(served.p99_ms, 8.25);
  EXPECT_EQ(served.rows_per_batch, std::nullopt) << "not known just now";
}

TEST(ParseLookTest, VersionThatIsNotServedHasItsReasonAndNoNumbers) {
  const auto look = ParseLook("host:1", kStatus, kMetrics);
  ASSERT_TRUE(look.ok()) << look.status();
  const VersionLook& lost = look->versions[0];
  EXPECT_EQ(lost.name, "lost");
  EXPECT_EQ(lost.version, "");
  EXPECT_EQ(lost.state, "UNAVAILABLE");
  EXPECT_EQ(lost.reason, "no config");
  EXPECT_EQ(lost.load, std::nullopt);
  EXPECT_EQ(look->versions[1].load, std::nullopt) << "it has no sample yet";
}

TEST(ParseLookTest, DeviceIsThatOfThePage) {
  const auto look = ParseLook("host:1", kStatus, kMetrics);
  ASSERT_TRUE(look.ok() && look->device.has_value()) << look.status();
  EXPECT_EQ(look->device->name, "NVIDIA H200");
  EXPECT_EQ(look->device->profile, "1g.18gb");
  EXPECT_EQ(look->device->busy_ratio, 0.5);
  EXPECT_EQ(look->device->sm_ratio, 0.25);
  EXPECT_EQ(look->device->memory_bytes, 4294967296.0);
  EXPECT_EQ(look->device->memory_total_bytes, 17179869184.0);
  EXPECT_EQ(look->device->power_watts, 120);
  EXPECT_EQ(look->device->temperature_celsius, std::nullopt);
}

TEST(ParseLookTest, WhatActsOnATerminalIsShownInstead) {
  const auto look =
      ParseLook("host:1",
                "{\"format\": \"ferry-status/1\", \"versions\": [{\"name\": "
                "\"a\\u001b[2J\", \"reason\": \"b\\u0007\"}], \"models\": 3}",
                "");
  ASSERT_TRUE(look.ok()) << look.status();
  EXPECT_EQ(look->versions[0].name, "a\\x1b[2J");
  EXPECT_EQ(look->versions[0].reason, "b\\x07");
}

TEST(ParseLookTest, PagesOfOtherServersAreRefused) {
  for (const char* page : {"", "ok\n", "[]", "3", "{\"format\": 1}",
                           "{\"format\": \"ferry-status/2\", \"versions\": []}",
                           "{\"format\": \"ferry-status/1\"}"}) {
    const auto look = ParseLook("host:1", page, kMetrics);
    EXPECT_EQ(look.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(
        look.status().message(),
        "host:1: expected /status.json of a ferry-server of this version, "
        "with the format ferry-status/1 and versions, got another")
        << page;
  }
}

}  // namespace
}  // namespace ferry::ctl
