// Tests what is kept of the last 15 minutes: rates, quantiles, what is not
// known.
#include "server/http/status_history.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using Json = nlohmann::json;

class StatusHistoryTest : public ::testing::Test {
 protected:
  void LookAfter(Duration passed) {
    now_ += passed;
    history_.Look(now_);
  }

  Json Status() const { return Json::parse(history_.ToJson({})); }
  Json Samples() const { return Status()["models"][0]["samples"]; }

  // One request of so many rows, which takes so long.
  void Serve(int32_t rows, Duration took) {
    TestRequest request({.rows = rows});
    ASSERT_TRUE(model_.scheduler().Submit(request.request()).ok());
    model_.Step();
    model_.instances().Stage(0);
    model_.clock().Advance(took);
    model_.instances().CompleteAll();
  }

  ScriptedModel model_{"m", 3};
  BorrowedTable table_{&model_.model()};
  Readiness readiness_;
  StatusHistory history_{table_, readiness_, nullptr};
  TimePoint now_ = model_.clock().Now();
};

TEST_F(StatusHistoryTest, SamplesAreAPeriodApart) {
  LookAfter(Duration(0));
  LookAfter(StatusHistory::kPeriod / 2);
  EXPECT_EQ(Status()["seconds_ago"].size(), 1U);
  LookAfter(StatusHistory::kPeriod / 2);
  EXPECT_EQ(Status()["seconds_ago"].size(), 2U);
}

TEST_F(StatusHistoryTest, RatesAndQuantilesAreOfTheirPeriodAlone) {
  Serve(1, Milliseconds(900));
  LookAfter(Duration(0));
  for (int i = 0; i < 20; ++i) {
    Serve(4, Milliseconds(10));
  }
  table_.UseAll().front()->arrived_rows += 80;
  table_.UseAll().front()->invalid_requests += 5;
  LookAfter(StatusHistory::kPeriod);
  const Json samples = Samples();
  EXPECT_TRUE(samples["requests_per_second"][0].is_null()) << "of no time";
  EXPECT_TRUE(samples["p99_ms"][0].is_null());
  EXPECT_DOUBLE_EQ(samples["requests_per_second"][1], 4);
  EXPECT_DOUBLE_EQ(samples["arrived_rows_per_second"][1], 16);
  EXPECT_DOUBLE_EQ(samples["refused_per_second"][1], 1);
  EXPECT_DOUBLE_EQ(samples["rows_per_batch"][1], 4);
  EXPECT_NEAR(samples["p50_ms"][1], 10, 0.4);
  EXPECT_NEAR(samples["p99_ms"][1], 10, 0.7) << "the long one was before";
  EXPECT_DOUBLE_EQ(samples["busy_ratio"][1], 0.04);
  LookAfter(StatusHistory::kPeriod);
  EXPECT_DOUBLE_EQ(Samples()["requests_per_second"][2], 0);
  EXPECT_TRUE(Samples()["p99_ms"][2].is_null());
  EXPECT_TRUE(Samples()["rows_per_batch"][2].is_null());
}

TEST_F(StatusHistoryTest, AQuarterOfAnHourIsKept) {
  for (size_t i = 0; i < StatusHistory::kSamples + 10; ++i) {
    LookAfter(StatusHistory::kPeriod);
  }
  EXPECT_EQ(Status()["seconds_ago"].size(), StatusHistory::kSamples);
  EXPECT_EQ(Samples()["load"].size(), StatusHistory::kSamples);
  EXPECT_EQ(Samples()["closed_per_second"]["full"].size(),
            StatusHistory::kSamples);
}

TEST_F(StatusHistoryTest, ModelThatComesLaterHasNothingBefore) {
  LookAfter(Duration(0));
  LookAfter(StatusHistory::kPeriod);
  ScriptedModel other("n");
  table_.Publish(SetOf({&model_.model(), &other.model()}));
  EXPECT_EQ(Status()["models"].size(), 1U) << "no sample of it yet";
  LookAfter(StatusHistory::kPeriod);
  Json models = Status()["models"];
  ASSERT_EQ(models.size(), 2U);
  for (const Json& model : models) {
    EXPECT_EQ(model["samples"]["queued_requests"].size(), 3U);
    EXPECT_EQ(model["samples"]["queued_requests"][0].is_null(),
              model["name"] == "n");
  }
  table_.Publish(SetOf({&other.model()}));
  LookAfter(StatusHistory::kPeriod);
  models = Status()["models"];
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0]["name"], "n");
}

TEST_F(StatusHistoryTest, VersionsThatAreNotServedAreTold) {
  const Json status = Json::parse(history_.ToJson(
      {{.name = "lost\n", .version = "3", .reason = "no file"},
       {.name = "m", .version = "3", .state = VersionState::kReady}}));
  EXPECT_EQ(status["versions"], Json::parse(R"([
      {"name": "lost\\x0a", "version": "3", "state": "UNAVAILABLE",
       "reason": "no file"},
      {"name": "m", "version": "3", "state": "READY", "reason": ""}])"));
}

TEST_F(StatusHistoryTest, WhatIsKnownOfNowIsTold) {
  LookAfter(Duration(0));
  readiness_.MoveTo(ServerState::kReady);
  const Json status = Status();
  EXPECT_EQ(status["state"], "ready");
  EXPECT_EQ(status["ready"], true);
  EXPECT_TRUE(status["device"].is_null());
  const Json& model = status["models"][0];
  EXPECT_EQ(model["version"], "3");
  EXPECT_EQ(model["policy"], "eager");
  EXPECT_TRUE(model["capacity_rows_per_second"].is_null());
}

}  // namespace
}  // namespace ferry
