// Tests that ModelTable finds models, and says what it lacks.
#include "server/control/model_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/control/model_messages.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelTableTest : public ::testing::Test {
 protected:
  ScriptedModel first_{"a", 2};
  ScriptedModel second_{"a", 10};
  ScriptedModel other_{"b", 1};
  BorrowedTable table_{&first_.model(), &second_.model(), &other_.model()};
};

TEST_F(ModelTableTest, WithoutAVersionTheLatestIsFound) {
  EXPECT_EQ((*table_.Find("a", ""))->version, "10");
  EXPECT_EQ((*table_.Find("b", ""))->version, "1");
}

TEST_F(ModelTableTest, NamedVersionIsFound) {
  EXPECT_EQ(&(*table_.Find("a", "2"))->model(), &first_.model());
  EXPECT_EQ(&(*table_.Find("a", "10"))->model(), &second_.model());
}

TEST_F(ModelTableTest, VersionIsANumberHoweverItIsWritten) {
  EXPECT_EQ(&(*table_.Find("a", "02"))->model(), &first_.model());
  EXPECT_THAT(table_.Find("a", "03").status().ToString(),
              HasSubstr("'a' version 3 is not found"));
}

TEST_F(ModelTableTest, WhatIsNotServedIsNotFound) {
  EXPECT_EQ(table_.Find("c", "").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_.Find("a", "3").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(table_.Find("a", "3").status().ToString(),
              HasSubstr("'a' version 3 is not found"));
}

TEST_F(ModelTableTest, VersionThatIsNoNumberIsInvalid) {
  for (const char* version : {"x", "-1", "1.0", "99999999999999999999"}) {
    EXPECT_EQ(table_.Find("a", version).status().code(),
              absl::StatusCode::kInvalidArgument)
        << version;
  }
}

TEST_F(ModelTableTest, VersionThatComesOrGoesIsUnavailable) {
  ServedSet served = SetOf({&first_.model()});
  served.by_name["a"].not_ready = {10};
  served.by_name["c"].not_ready = {1};
  table_.Publish(std::move(served));
  EXPECT_EQ((*table_.Find("a", ""))->version, "2");
  EXPECT_EQ(table_.Find("a", "10").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(table_.Find("c", "").status().ToString(),
              HasSubstr("NOT_FOUND: Request for unknown model: 'c' has no "
                        "available versions"));
}

TEST_F(ModelTableTest, AllUsesAreInOrderOfNameAndVersion) {
  std::vector<std::string> all;
  for (const ModelUse& use : table_.UseAll()) {
    all.push_back(use->model().name + use->version);
  }
  EXPECT_THAT(all, ElementsAre("a2", "a10", "b1"));
}

TEST_F(ModelTableTest, ViewSeesWhatIsPublished) {
  ModelTableView view(table_);
  EXPECT_EQ((*view.Find("a", ""))->version, "10");
  table_.Publish(SetOf({&first_.model()}));
  EXPECT_EQ((*view.Find("a", ""))->version, "2");
  EXPECT_EQ(view.Find("b", "").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ModelTableTest, ListenerHearsWhatIsServedAndEachChangeOfIt) {
  std::vector<size_t> heard;  // how many versions of "a" are ready
  table_.Listen([&](const ServedSet& served) {
    const auto found = served.by_name.find("a");
    heard.push_back(found == served.by_name.end() ? 0
                                                  : found->second.ready.size());
  });
  EXPECT_THAT(heard, ElementsAre(2));
  table_.Publish(SetOf({&first_.model()}));
  table_.Publish({});
  EXPECT_THAT(heard, ElementsAre(2, 1, 0));
  table_.Listen({});
  table_.Publish(SetOf({&first_.model()}));
  EXPECT_THAT(heard, ElementsAre(2, 1, 0));
}

TEST_F(ModelTableTest, EntryThatIsGoneIsKeptUntilItsLastUserHasGone) {
  ModelTableView view(table_);
  ModelUse used = *view.Find("b", "");
  table_.Publish(SetOf({&first_.model()}));
  ASSERT_EQ(table_.leaving_count(), 3u) << "two of them had no user";
  EXPECT_EQ(table_.TakeAbandoned().size(), 2u);
  EXPECT_EQ(&used->model(), &other_.model());
  EXPECT_FALSE(used->TryUse()) << "it takes no new user";
  EXPECT_TRUE(table_.TakeAbandoned().empty());
  used.Reset();
  ASSERT_EQ(table_.TakeAbandoned().size(), 1u);
  EXPECT_EQ(table_.leaving_count(), 0u);
}

TEST_F(ModelTableTest, UseOfWhatLeavesKeepsIt) {
  table_.Publish({});
  {
    const std::vector<ModelUse> uses = table_.UseLeaving();
    ASSERT_EQ(uses.size(), 3u);
    EXPECT_TRUE(table_.TakeAbandoned().empty());
    EXPECT_FALSE(uses[0]->TryUse()) << "closed to others all the same";
  }
  EXPECT_EQ(table_.TakeAbandoned().size(), 3u);
  EXPECT_TRUE(table_.UseLeaving().empty());
}

// Serves a request of two rows.
void ServeOne(ScriptedModel& model) {
  TestRequest request({.rows = 2});
  ASSERT_TRUE(model.scheduler().Submit(request.request()).ok());
  model.Step();
  model.instances().CompleteAll();
  model.Step();
}

TEST_F(ModelTableTest, CountsOutliveWhatCountedThem) {
  const auto rows = [&] {
    std::map<std::string, std::pair<bool, uint64_t>> found;
    for (const CountedVersion& each : table_.Count()) {
      found[each.name + each.version] = {
          static_cast<bool>(each.use),
          each.counts.counted.served.ok_rows.value()};
    }
    return found;
  };
  ServeOne(other_);
  ModelUse last = *table_.Find("b", "");
  last->invalid_requests = 5;
  SchedulerOptions larger;
  larger.max_batch_size = 64;
  ScriptedModel next("b", 1, larger);
  table_.Publish(SetOf({&next.model()}));
  ServeOne(other_);  // its last answers, while it leaves
  ServeOne(next);
  EXPECT_EQ(rows()["b1"], std::pair(true, uint64_t{6})) << "while it leaves";
  last.Reset();
  EXPECT_EQ(table_.TakeAbandoned().size(), 3u);
  EXPECT_EQ(rows()["b1"], std::pair(true, uint64_t{6})) << "it is gone";
  EXPECT_EQ(rows()["a2"], std::pair(false, uint64_t{0}));

  table_.Publish({});
  EXPECT_EQ(table_.TakeAbandoned().size(), 1u);
  EXPECT_EQ(rows()["b1"], std::pair(false, uint64_t{6})) << "both are gone";
  for (const CountedVersion& each : table_.Count()) {
    if (each.name == "b") {
      EXPECT_EQ(each.counts.invalid_requests, 5u);
      EXPECT_EQ(each.counts.counted.served.queue_wait.count(), 3u);
      EXPECT_EQ(each.counts.counted.served.by_rows[2].batches.value(), 3u);
    }
  }
}

TEST_F(ModelTableTest, SoManyCountsAreKept) {
  for (int64_t version = 1; version <= 300; ++version) {
    ScriptedModel model("c", version);
    table_.Publish(SetOf({&model.model()}));
    table_.Publish({});
    table_.TakeAbandoned();
  }
  const std::vector<CountedVersion> counted = table_.Count();
  ASSERT_EQ(counted.size(), 256u);
  EXPECT_EQ(counted.front().version, "45");
  EXPECT_EQ(counted.back().version, "300");
}

TEST_F(ModelTableTest, EntryThatIsPublishedAgainStays) {
  ServedSet served = *table_.current();
  served.by_name.erase("a");
  const uint64_t serial = (*table_.Find("b", ""))->serial;
  table_.Publish(std::move(served));
  EXPECT_EQ((*table_.Find("b", ""))->serial, serial);
  EXPECT_EQ(table_.leaving_count(), 2u);
}

// Users come and go while versions do; each use has a whole model.
TEST(ModelTableStress, UsersNeverMeetADestroyedModel) {
  ModelTable table;
  const auto publish = [&](int64_t version) {
    auto model = std::make_unique<ServedModel>();
    model->name = "m";
    model->version = version;
    ServedSet served;
    served.by_name["m"].ready.push_back(
        std::make_shared<ModelEntry>(std::move(model)));
    table.Publish(std::move(served));
  };
  publish(1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      ModelTableView view(table);
      int64_t newest = 0;
      while (!stop) {
        const absl::StatusOr<ModelUse> use = view.Find("m", "");
        ASSERT_TRUE(use.ok()) << use.status();
        ASSERT_EQ((*use)->model().name, "m");
        ASSERT_GE((*use)->model().version, newest) << "an old one came back";
        newest = (*use)->model().version;
      }
    });
  }
  for (int64_t version = 2; version < 2000; ++version) {
    publish(version);
    for (const auto& entry : table.TakeAbandoned()) {
      entry->DestroyModel();
    }
  }
  stop = true;
  for (std::thread& user : users) {
    user.join();
  }
  (void)table.TakeAbandoned();
  EXPECT_EQ(table.leaving_count(), 0u);
}

TEST_F(ModelTableTest, LongNamesAreCutInMessages) {
  EXPECT_LT(
      table_.Find(std::string(1 << 20, 'n'), "").status().message().size(),
      300u);
}

TEST(ModelMessagesTest, MetadataHasTheBatchDimensionFirst) {
  ScriptedModel model("m");
  ModelTable table;
  table.Publish(SetOf({&model.model()}));
  const auto metadata = FindMetadata(table, "m", "");
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_EQ(metadata->name(), "m");
  EXPECT_EQ(metadata->platform(), "ferry_echo");
  EXPECT_THAT(metadata->versions(), ElementsAre("1"));
  ASSERT_EQ(metadata->inputs_size(), 1);
  EXPECT_EQ(metadata->inputs(0).datatype(), "INT64");
  EXPECT_THAT(metadata->inputs(0).shape(), ElementsAre(-1, 1));
  EXPECT_THAT(metadata->outputs(0).shape(), ElementsAre(-1, 1));
}

TEST(ModelMessagesTest, StatisticsAreThoseOfTheBatcher) {
  ScriptedModel model("m", 7);
  const std::shared_ptr<ModelEntry> entry = Borrowed(model.model());
  SchedulerStatistics counted(4);
  counted.last_arrival = model.clock().Now();
  counted.served.ok_rows.Add(9);
  for (uint64_t wait : {10, 20}) {
    counted.served.queue_wait.Record(wait);
    counted.served.request_time.Record(100 + wait);
    counted.served.deliver.Record(5);
  }
  counted.served.stage_ns_of_requests.Add(30);
  counted.served.compute_ns_of_requests.Add(40);
  counted.served.failed_requests[1].Add(3);
  counted.served.failed_requests[4].Add(1);
  counted.served.failed_ns.Add(77);
  counted.served.by_rows[3].batches.Add(2);
  counted.served.by_rows[3].compute_ns.Add(50);
  counted.served.by_rows[4].batches.Add(1);
  inference::ModelStatistics statistics;
  FillModelStatistics(*entry,
                      {.counted = counted,
                       .invalid_requests = entry->invalid_requests,
                       .device_events = {}},
                      model.clock().Now(), statistics);
  EXPECT_EQ(statistics.version(), "7");
  EXPECT_GT(statistics.last_inference(), 0u);
  EXPECT_EQ(statistics.inference_count(), 9u);
  EXPECT_EQ(statistics.execution_count(), 3u);
  const auto& sums = statistics.inference_stats();
  EXPECT_EQ(sums.success().count(), 2u);
  EXPECT_EQ(sums.success().ns(), 230u);
  EXPECT_EQ(sums.queue().ns(), 30u);
  EXPECT_EQ(sums.compute_input().ns(), 30u);
  EXPECT_EQ(sums.compute_infer().ns(), 40u);
  EXPECT_EQ(sums.compute_output().ns(), 10u);
  EXPECT_EQ(sums.fail().count(), 4u);
  EXPECT_EQ(sums.fail().ns(), 77u);
  ASSERT_EQ(statistics.batch_stats_size(), 2);
  EXPECT_EQ(statistics.batch_stats(0).batch_size(), 3u);
  EXPECT_EQ(statistics.batch_stats(0).compute_infer().count(), 2u);
  EXPECT_EQ(statistics.batch_stats(0).compute_infer().ns(), 50u);
  EXPECT_EQ(statistics.batch_stats(1).batch_size(), 4u);
}

TEST(ModelMessagesTest, UnusedModelHasNoLastInference) {
  ScriptedModel model("m");
  inference::ModelStatistics statistics;
  const std::shared_ptr<ModelEntry> entry = Borrowed(model.model());
  FillModelStatistics(*entry, entry->Count(), model.clock().Now(), statistics);
  EXPECT_EQ(statistics.last_inference(), 0u);
}

TEST(ModelMessagesTest, WhoIsRefusedHasFailed) {
  ScriptedModel model("m");
  const std::shared_ptr<ModelEntry> entry = Borrowed(model.model());
  SchedulerStatistics counted(4);
  counted.served.failed_requests[4].Add(1);
  counted.served.failed_ns.Add(77);
  for (uint64_t& refused : counted.refused) {  // for each of the reasons
    refused = 10;
  }
  entry->invalid_requests = 1000;
  inference::ModelStatistics statistics;
  FillModelStatistics(*entry,
                      {.counted = counted,
                       .invalid_requests = entry->invalid_requests,
                       .device_events = {}},
                      model.clock().Now(), statistics);
  EXPECT_EQ(statistics.inference_stats().fail().count(),
            1 + 10 * kRefusalCount + 1000);
  EXPECT_EQ(statistics.inference_stats().fail().ns(), 77u);
}

}  // namespace
}  // namespace ferry
