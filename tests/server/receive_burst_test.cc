// ReceiveBurst: when which batcher is told of what was received.
#include "server/receive_burst.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>
#include <memory>
#include <optional>

#include "batcher/thread_priority.h"
#include "tests/server/borrowed_models.h"
#include "tests/server/scripted_model.h"

namespace ferry {
namespace {

// A model of which 1 ms may run inline, and its entry. It takes 0.1 ms a row.
struct Served {
  Served()
      : model("m", 1, {},
              {.warm_up_samples = {{.rows = 1, .took = Milliseconds(0.1)},
                                   {.rows = 64, .took = Milliseconds(6.4)}},
               .max_inline_run = Milliseconds(1),
               .max_poll = Milliseconds(0.2)}),
        entry(Borrowed(model.model())) {
    model.batcher().Step();
  }
  // RunInline() may have raised it, once a test has allowed that.
  ~Served() { LowerThreadPriority(); }

  // A request of which the batcher is not told, and which is added.
  void Receive(ReceiveBurst& burst) {
    bool is_untold = false;
    requests.emplace_back();
    EXPECT_TRUE(
        model.batcher().Submit(requests.back().request(), is_untold).ok());
    EXPECT_TRUE(is_untold);
    EXPECT_FALSE(is_told());
    burst.Add(*entry);
  }

  bool is_told() { return model.batcher().WasNotified(); }
  int inline_count() { return model.backend().inline_count(); }

  void Settle() {
    do {
      model.backend().CompleteAll();
      model.batcher().Step();
    } while (model.backend().running_count() > 0);
  }

  ScriptedModel model;
  std::shared_ptr<ModelEntry> entry;
  std::deque<TestRequest> requests;
};

bool IsAbandoned(ModelEntry& entry) {
  entry.Close();
  return entry.is_abandoned();
}

TEST(ReceiveBurst, RunsWhatWasReceivedOnceNothingMoreIs) {
  Served served;
  ReceiveBurst burst;
  EXPECT_TRUE(burst.empty());
  served.Receive(burst);
  served.Receive(burst);
  EXPECT_FALSE(burst.empty());
  EXPECT_EQ(burst.RunInline(), Milliseconds(0.2));
  EXPECT_EQ(served.inline_count(), 1);
  EXPECT_TRUE(burst.empty());
  served.Settle();
}

TEST(ReceiveBurst, TellsABusyLaneAndDoesNotPollThen) {
  Served served;
  TestRequest running;
  EXPECT_TRUE(served.model.batcher().Submit(running.request()).ok());
  served.model.batcher().Step();
  served.model.backend().Stage(0);
  served.model.backend().EndCompute(0);
  served.model.backend().FreeSlot(0);  // its replies are not written yet
  served.model.batcher().Step();
  ReceiveBurst burst;
  served.Receive(burst);
  EXPECT_EQ(burst.RunInline(), std::nullopt);
  EXPECT_EQ(served.inline_count(), 0);
  EXPECT_TRUE(served.is_told());
  served.Settle();
}

TEST(ReceiveBurst, IsToldAfterSoManyTags) {
  Served served;
  ReceiveBurst burst;
  for (int tag = 0; tag < ReceiveBurst::kMaxTags; ++tag) {
    burst.TagTaken();  // of what was received before
    if (tag == 9) {
      served.Receive(burst);
    }
  }
  EXPECT_FALSE(served.is_told()) << "the count begins with the burst";
  for (int tag = 0; tag < 9; ++tag) {
    burst.TagTaken();
  }
  EXPECT_FALSE(served.is_told());
  burst.TagTaken();
  EXPECT_TRUE(served.is_told());
  EXPECT_TRUE(burst.empty());
  EXPECT_EQ(served.inline_count(), 0) << "there is more to receive";
  served.Settle();
}

TEST(ReceiveBurst, TakesMessagesThatAreSoonGathered) {
  EXPECT_TRUE(ReceiveBurst::Takes(ReceiveBurst::kMaxMessageBytes));
  EXPECT_FALSE(ReceiveBurst::Takes(ReceiveBurst::kMaxMessageBytes + 1));
}

TEST(ReceiveBurst, IsToldBeforeSoManyBytesAreRead) {
  Served served;
  ReceiveBurst burst;
  burst.MessageCame(ReceiveBurst::kMaxBytes);  // of what is not in the burst
  served.Receive(burst);
  burst.MessageCame(ReceiveBurst::kMaxBytes - 1);
  burst.MessageCame(1);
  EXPECT_FALSE(served.is_told());
  burst.MessageCame(1);
  EXPECT_TRUE(served.is_told());
  served.Settle();
}

TEST(ReceiveBurst, IsToldWhereAnotherModelsRequestComes) {
  Served first;
  Served second;
  ReceiveBurst burst;
  first.Receive(burst);
  second.Receive(burst);
  EXPECT_TRUE(first.is_told());
  EXPECT_FALSE(second.is_told());
  burst.End();
  EXPECT_TRUE(second.is_told());
  first.Settle();
  second.Settle();
}

TEST(ReceiveBurst, UsesTheModelWhileItsBatchRunsHere) {
  Served served;
  ReceiveBurst burst;
  served.Receive(burst);
  served.entry->Close();
  served.model.backend().on_inline = [&] {
    EXPECT_FALSE(served.entry->is_abandoned());
  };
  burst.RunInline();
  EXPECT_TRUE(served.entry->is_abandoned());
  served.Settle();
}

TEST(ReceiveBurst, UsesTheModelUntilItIsTold) {
  Served served;
  ReceiveBurst burst;
  served.Receive(burst);
  EXPECT_FALSE(IsAbandoned(*served.entry));
  burst.End();
  EXPECT_TRUE(IsAbandoned(*served.entry));
  served.Settle();
}

// --- priority ----------------------------------------------------------------

int Nice() { return getpriority(PRIO_PROCESS, 0); }

// Its tests change the nice value of the thread they are on.
class ReceiveBurstPriority : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!AllowRaisedPriority()) {
      GTEST_SKIP() << "the system does not let this process raise its priority";
    }
    first_.Receive(burst_);
    EXPECT_EQ(Nice(), normal_);
    burst_.RunInline();
    EXPECT_LT(Nice(), normal_);
    first_.Settle();
  }
  void TearDown() override {
    first_.Settle();
    second_.Settle();
  }

  const int normal_ = Nice();
  Served first_;
  Served second_;
  ReceiveBurst burst_;
};

TEST_F(ReceiveBurstPriority, IsThatOfThreadsThatRunBatchesWhileThisDoes) {
  for (int tag = 1; tag < ReceiveBurst::kMaxTags; ++tag) {
    burst_.TagTaken();
  }
  EXPECT_LT(Nice(), normal_);
  burst_.TagTaken();
  EXPECT_EQ(Nice(), normal_) << "it has come to no batch for so long";
}

TEST_F(ReceiveBurstPriority, IsLoweredWhereBurstsEndWithoutABatchHere) {
  for (int tag = 0; tag < ReceiveBurst::kMaxTags; ++tag) {
    Served& served = tag % 2 == 0 ? first_ : second_;
    burst_.Add(*served.entry);  // and has the other told
    burst_.TagTaken();
  }
  EXPECT_EQ(Nice(), normal_);
  burst_.End();
}

}  // namespace
}  // namespace ferry
