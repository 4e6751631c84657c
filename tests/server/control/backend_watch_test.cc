// Tests that BackendWatch sees lost and hanging backends.
#include "server/control/backend_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

class BackendWatchTest : public ::testing::Test {
 protected:
  std::optional<std::string> LookAfter(Duration passed) {
    model_.clock().Advance(passed);
    return watch_.Look(model_.clock().Now());
  }

  void Start(TestRequest& request) {
    ASSERT_TRUE(model_.scheduler().Submit(request.request()).ok());
    model_.Step();
  }

  ScriptedModel model_{"m"};
  BorrowedTable table_{&model_.model()};
  BackendWatch watch_{table_, Milliseconds(1000)};
};

TEST_F(BackendWatchTest, IdleBackendIsFineForever) {
  EXPECT_EQ(LookAfter(Milliseconds(5000)), std::nullopt);
  EXPECT_EQ(LookAfter(Milliseconds(5000)), std::nullopt);
}

TEST_F(BackendWatchTest, LoadIsWhatArrivesOfWhatFullBatchesCarry) {
  const std::vector<ModelUse> uses = table_.UseAll();
  ModelEntry& entry = *uses.front();
  LookAfter(Milliseconds(500));
  entry.arrived_rows = 30;
  LookAfter(Milliseconds(1000));
  EXPECT_TRUE(std::isnan(entry.load.Load().capacity)) << "nothing ran";
  EXPECT_TRUE(std::isnan(watch_.load().ratio));
  TestRequest request({.rows = 2});
  Start(request);
  model_.instances().Stage(0);
  model_.clock().Advance(Milliseconds(2));
  model_.instances().CompleteAll();
  model_.Step();  // it learns
  LookAfter(Milliseconds(998));
  const double capacity =
      CapacityOf(model_.scheduler().Snapshot(),
                 model_.scheduler().runtime_options().max_batch_size,
                 /*has_own_batches=*/false, kUnknown, 1);
  ASSERT_GT(capacity, 0);
  const ModelLoad load = entry.load.Load();
  EXPECT_DOUBLE_EQ(load.capacity, capacity);
  EXPECT_DOUBLE_EQ(load.last_minute, 15 / capacity);  // 30 rows in 2 s
  EXPECT_DOUBLE_EQ(load.last_5s, 15 / capacity);
  EXPECT_DOUBLE_EQ(watch_.load().ratio, 15 / capacity);
  EXPECT_DOUBLE_EQ(watch_.load().rows_per_second, 15);
}

TEST_F(BackendWatchTest, WhatArrivedSinceTheLookBeforeAModelCameCounts) {
  LookAfter(Milliseconds(500));
  ScriptedModel other("n");
  TestRequest request({.rows = 1});
  ASSERT_TRUE(other.scheduler().Submit(request.request()).ok());
  other.Step();
  other.instances().Stage(0);
  other.clock().Advance(Milliseconds(2));
  other.instances().CompleteAll();
  other.Step();  // it learns
  table_.Publish(SetOf({&other.model()}));
  const std::vector<ModelUse> uses = table_.UseAll();
  uses.front()->arrived_rows = 50;
  LookAfter(Milliseconds(500));
  EXPECT_DOUBLE_EQ(watch_.load().rows_per_second, 100);
}

TEST_F(BackendWatchTest, LoadOfTheServerIsTheSumOfItsModels) {
  ScriptedModel other("n");
  BorrowedTable table({&model_.model(), &other.model()});
  BackendWatch watch(table, Milliseconds(1000));
  const std::vector<ModelUse> uses = table.UseAll();
  TimePoint now = model_.clock().Now();
  watch.Look(now);
  for (ScriptedModel* model : {&model_, &other}) {
    TestRequest request({.rows = 1});
    ASSERT_TRUE(model->scheduler().Submit(request.request()).ok());
    model->Step();
    model->instances().Stage(0);
    model->clock().Advance(Milliseconds(2));
    model->instances().CompleteAll();
    model->Step();  // it learns
  }
  uses[0]->arrived_rows = 100;
  uses[1]->arrived_rows = 300;
  watch.Look(now + Milliseconds(1000));
  EXPECT_DOUBLE_EQ(watch.load().ratio,
                   uses[0]->load.Load().last_5s + uses[1]->load.Load().last_5s);
  EXPECT_DOUBLE_EQ(watch.load().rows_per_second, 400);
}

TEST_F(BackendWatchTest, ALostDeviceIsSeenWhileNobodyUsesIt) {
  bool is_lost = false;
  BackendWatch watch(table_, Milliseconds(1000), [&] { return is_lost; });
  EXPECT_EQ(watch.Look(model_.clock().Now()), std::nullopt);
  is_lost = true;
  EXPECT_THAT(watch.Look(model_.clock().Now()),
              Optional(HasSubstr("device is lost")));
}

TEST_F(BackendWatchTest, BackendWithoutProgressHangs) {
  EXPECT_EQ(LookAfter(Milliseconds(5000)), std::nullopt);
  TestRequest request;
  Start(request);
  EXPECT_EQ(LookAfter(Milliseconds(10)), std::nullopt);
  EXPECT_EQ(LookAfter(Milliseconds(900)), std::nullopt);
  EXPECT_THAT(LookAfter(Milliseconds(200)),
              Optional(HasSubstr("backend hangs model=m version=1")));
  model_.instances().CompleteAll();
  model_.Step();
}

TEST_F(BackendWatchTest, ThreadThatPullsNoMoreHangs) {
  TestRequest request;
  Start(request);
  model_.instances().CompleteAll();
  EXPECT_EQ(LookAfter(Milliseconds(900)), std::nullopt);
  EXPECT_THAT(LookAfter(Milliseconds(200)),
              Optional(HasSubstr("backend hangs model=m version=1")));
  model_.Step();
  EXPECT_EQ(LookAfter(Milliseconds(5000)), std::nullopt);
}

TEST_F(BackendWatchTest, ThreadThatPulledBeforeItsBatchEndedIsIdleThen) {
  ScriptedModel model("n", 1, {}, {.max_in_flight = 2});
  BorrowedTable table{&model.model()};
  BackendWatch watch(table, Milliseconds(1000));
  TestRequest request;
  ASSERT_TRUE(model.scheduler().Submit(request.request()).ok());
  model.Step();
  model.instances().Stage(0);
  model.Step();  // it waits for the next
  model.instances().CompleteAll();
  model.clock().Advance(Milliseconds(5000));
  EXPECT_EQ(watch.Look(model.clock().Now()), std::nullopt);
}

TEST_F(BackendWatchTest, BatchThatTakesFarTooLongIsOverdueUntilItEnds) {
  BackendWatch watch(table_, Milliseconds(60'000));
  const std::vector<ModelUse> uses = table_.UseAll();
  const ModelEntry& entry = *uses.front();
  const auto look = [&](Duration passed) {
    model_.clock().Advance(passed);
    EXPECT_EQ(watch.Look(model_.clock().Now()), std::nullopt);
  };
  TestRequest request;
  Start(request);
  look(BackendWatch::kOverdue);
  EXPECT_FALSE(entry.is_overdue);
  look(Milliseconds(1));
  EXPECT_TRUE(entry.is_overdue);
  EXPECT_THAT(watch.overdue(), testing::ElementsAre("model=m version=1"));
  look(Milliseconds(500));
  EXPECT_EQ(entry.overdue_batches, 1U);
  model_.instances().CompleteAll();
  model_.Step();
  look(Milliseconds(500));
  EXPECT_FALSE(entry.is_overdue);
  EXPECT_THAT(watch.overdue(), testing::IsEmpty());
  EXPECT_EQ(entry.overdue_batches, 1U);
}

TEST_F(BackendWatchTest, BatchOfASlowModelIsOverdueAfterTenTimesThePrediction) {
  BackendWatch watch(table_, Milliseconds(600'000));
  const std::vector<ModelUse> uses = table_.UseAll();
  const ModelEntry& entry = *uses.front();
  for (int i = 0; i < 40; ++i) {  // it learns that a batch takes 2 s
    TestRequest request({.id = i});
    Start(request);
    model_.instances().Stage(0);
    model_.clock().Advance(Milliseconds(2000));
    model_.instances().CompleteAll();
    model_.Step();
  }
  TestRequest request({.id = 100});
  Start(request);
  model_.clock().Advance(Milliseconds(15'000));
  EXPECT_EQ(watch.Look(model_.clock().Now()), std::nullopt);
  EXPECT_FALSE(entry.is_overdue);
  model_.clock().Advance(Milliseconds(300'000));
  EXPECT_EQ(watch.Look(model_.clock().Now()), std::nullopt);
  EXPECT_TRUE(entry.is_overdue);
  model_.instances().CompleteAll();
  model_.Step();
}

TEST_F(BackendWatchTest, BackendThatBeginsNextBatchesIsFine) {
  LookAfter(Milliseconds(1));
  for (int i = 0; i < 5; ++i) {
    TestRequest request({.id = i});
    Start(request);
    EXPECT_EQ(LookAfter(Milliseconds(900)), std::nullopt);
    model_.instances().CompleteAll();
    model_.Step();
  }
}

TEST_F(BackendWatchTest, LostDeviceIsReported) {
  TestRequest request;
  Start(request);
  model_.instances().Stage(0);
  model_.instances().Break(0);
  EXPECT_THAT(LookAfter(Milliseconds(1)),
              Optional(HasSubstr("device is lost")));
  model_.instances().CompleteAll();
  model_.Step();
}

TEST_F(BackendWatchTest, PushbackIsTheTimeTheQueueTakesToEmpty) {
  std::vector<std::unique_ptr<TestRequest>> requests;
  LookAfter(Milliseconds(1));
  for (int i = 0; i < 5; ++i) {
    requests.push_back(
        std::make_unique<TestRequest>(TestRequestOptions{.id = i}));
    Start(*requests.back());  // the first is computed, the others wait
  }
  model_.instances().CompleteAll();
  // One row in 100 ms, four rows to go.
  LookAfter(Milliseconds(100));
  EXPECT_EQ(table_.UseAll()[0]->retry_pushback_ms.load(), 400);
  model_.Step();
  model_.instances().CompleteAll();
  model_.Step();
}

}  // namespace
}  // namespace ferry
