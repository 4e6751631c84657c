// Batcher: requests of which it is told once for several, and short batches
// that run on the thread that tells.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/host_backend.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/stepped_batcher.h"

namespace ferry {
namespace {

// s(b) = 40 us + 10 us b, of which 100 us may run inline: 6 rows.
SteppedBatcherOptions Options(PolicyKind policy = PolicyKind::kEager) {
  SteppedBatcherOptions options;
  options.batcher.policy = policy;
  options.backend.max_inline_run = Milliseconds(0.1);
  options.backend.warm_up_samples = {{.rows = 1, .took = Milliseconds(0.05)},
                                     {.rows = 64, .took = Milliseconds(0.68)}};
  return options;
}

struct Submitted {
  bool is_untold = false;
  bool is_told = false;
};

Submitted Submit(SteppedBatcher& stepped, TestRequest& request) {
  Submitted result;
  EXPECT_TRUE(
      stepped.batcher().Submit(request.request(), result.is_untold).ok());
  result.is_told = stepped.batcher().WasNotified();
  return result;
}

void ExpectIsLeftToTheCaller(const Submitted& submitted) {
  EXPECT_TRUE(submitted.is_untold);
  EXPECT_FALSE(submitted.is_told);
}

void ExpectIsToldAtOnce(const Submitted& submitted) {
  EXPECT_FALSE(submitted.is_untold);
  EXPECT_TRUE(submitted.is_told);
}

TEST(BatcherInline, CallerTellsOnceForAllThatItSubmitted) {
  SteppedBatcher stepped(Options());
  stepped.Step();
  TestRequest requests[2];
  for (TestRequest& request : requests) {
    ExpectIsLeftToTheCaller(Submit(stepped, request));
  }
  stepped.batcher().Serve();
  EXPECT_TRUE(stepped.batcher().WasNotified());
  stepped.Step();
  EXPECT_EQ(stepped.backend().started_count(), 1);
  stepped.Settle();
  EXPECT_TRUE(requests[0].HasOwnRows() && requests[1].HasOwnRows());
}

TEST(BatcherInline, SubmitWithoutTheQuestionTells) {
  SteppedBatcher stepped(Options());
  stepped.Step();
  TestRequest request;
  stepped.Submit(request);
  EXPECT_TRUE(stepped.batcher().WasNotified());
  stepped.Step();
  stepped.Settle();
}

TEST(BatcherInline, OnlyAShortBatchIsLeftToTheCaller) {
  SteppedBatcher stepped(Options());
  stepped.Step();
  TestRequest five({.rows = 5});
  TestRequest two({.rows = 2});
  ExpectIsLeftToTheCaller(Submit(stepped, five));
  ExpectIsToldAtOnce(Submit(stepped, two));
  stepped.Step();
  stepped.Settle();
}

TEST(BatcherInline, BatchOfUnknownLengthIsNotLeftToTheCaller) {
  SteppedBatcherOptions options = Options();
  options.backend.warm_up_samples = {};
  SteppedBatcher stepped(options);
  stepped.Step();
  TestRequest request;
  ExpectIsToldAtOnce(Submit(stepped, request));
  stepped.Step();
  stepped.Settle();
}

TEST(BatcherInline, BatchThatMayWaitIsNotLeftToTheCaller) {
  SteppedBatcher stepped(Options(PolicyKind::kWindow));
  stepped.Step();
  TestRequest request;
  ExpectIsToldAtOnce(Submit(stepped, request));
  stepped.Destroy();  // while the request is there to be answered
}

TEST(BatcherInline, WhatIsNoNewsLeavesNothingToTell) {
  SteppedBatcher stepped(Options());
  TestRequest requests[3];
  stepped.Submit(requests[0]);
  stepped.Step();  // no slot is free now
  for (bool is_untold : {false, true}) {
    const bool before = is_untold;
    TestRequest& request = requests[is_untold ? 1 : 2];
    EXPECT_TRUE(stepped.batcher().Submit(request.request(), is_untold).ok());
    EXPECT_EQ(is_untold, before);
  }
  EXPECT_FALSE(stepped.batcher().WasNotified());
  stepped.Settle();
}

TEST(BatcherInline, IdleLaneIsAskedToRunItAndABusyOneToldOnly) {
  SteppedBatcher stepped(Options());
  stepped.Step();
  TestRequest requests[2];
  Submit(stepped, requests[0]);
  EXPECT_TRUE(stepped.batcher().ServeInline());
  EXPECT_EQ(stepped.backend().inline_count(), 1);
  EXPECT_TRUE(stepped.batcher().WasNotified()) << "within the backend's call";
  stepped.Step();
  Submit(stepped, requests[1]);
  EXPECT_FALSE(stepped.batcher().ServeInline());
  EXPECT_EQ(stepped.backend().inline_count(), 1);
  EXPECT_TRUE(stepped.batcher().WasNotified());
  stepped.Settle();
}

TEST(BatcherInline, WhatHasGrownLongMeanwhileIsTheLanes) {
  SteppedBatcher stepped(Options());
  stepped.Step();
  TestRequest one;
  TestRequest many({.rows = 60});
  Submit(stepped, one);
  Submit(stepped, many);
  EXPECT_FALSE(stepped.batcher().ServeInline());
  EXPECT_EQ(stepped.backend().inline_count(), 0);
  stepped.Step();
  stepped.Settle();
}

TEST(BatcherInline, OfABatchThatIsPaddedAllItsRowsCount) {
  SteppedBatcherOptions options = Options();
  options.batcher.buckets = {1, 64};
  SteppedBatcher stepped(options);
  stepped.Step();
  TestRequest requests[2];
  ExpectIsLeftToTheCaller(Submit(stepped, requests[0]));
  ExpectIsToldAtOnce(Submit(stepped, requests[1]));
  stepped.Step();
  stepped.Settle();
}

TEST(BatcherInline, DrainServesWhatItWasNotTold) {
  SteppedBatcher stepped(Options());
  stepped.Step();
  TestRequest request;
  ExpectIsLeftToTheCaller(Submit(stepped, request));
  stepped.batcher().BeginDrain();
  EXPECT_TRUE(stepped.batcher().WasNotified());
  stepped.Step();
  stepped.Settle();
  EXPECT_TRUE(request.HasOwnRows());
  stepped.batcher().Serve();  // late, and nothing is left to do
  stepped.Step();
  EXPECT_EQ(stepped.backend().started_count(), 1);
}

// Notes on which thread it computed last.
class NotingModel final : public EchoModel {
 public:
  explicit NotingModel(std::atomic<std::thread::id>& seen)
      : EchoModel(RowSpec()), seen_(seen) {}

  Outcome Compute(const Batch& batch, OutputRef& output) override {
    seen_ = std::this_thread::get_id();
    return EchoModel::Compute(batch, output);
  }

 private:
  std::atomic<std::thread::id>& seen_;
};

TEST(BatcherInline, RunsOnTheThreadThatServes) {
  std::atomic<std::thread::id> computed_on;
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::make_unique<NotingModel>(computed_on));
  const auto batcher = *Batcher::Create(
      *HostBackend::Create(std::move(models),
                           {.max_inline_run = std::chrono::hours(1)}),
      {});
  TestRequest first({.id = 1});  // how long it takes is not known before
  EXPECT_TRUE(batcher->Submit(first.request()).ok());
  first.completion().WaitUntilReleased();
  bool is_served = false;
  EXPECT_NE(computed_on.load(), std::this_thread::get_id());
  while (!is_served) {  // the lane may not have come back yet
    TestRequest requests[2];
    bool is_untold = false;
    for (TestRequest& request : requests) {
      EXPECT_TRUE(batcher->Submit(request.request(), is_untold).ok());
    }
    is_served = is_untold && batcher->ServeInline();
    EXPECT_TRUE(!is_served || computed_on.load() == std::this_thread::get_id());
    for (TestRequest& request : requests) {
      request.completion().WaitUntilReleased();
      EXPECT_TRUE(request.HasOwnRows());
    }
  }
}

}  // namespace
}  // namespace ferry
