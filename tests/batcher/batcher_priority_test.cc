// Batcher: levels of priority, the floor against starvation, and closing just
// in time with two slots. All on a fake clock.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/support/stepped_batcher.h"

namespace ferry {
namespace {

using Ints = std::vector<int64_t>;

Ints Ids(const Batch& batch) {
  Ints ids;
  for (const Batch::Entry& entry : batch.entries()) {
    ids.push_back(IdOf(*entry.request));
  }
  return ids;
}

// The ids of the batches in the order in which they start, until all is served.
std::vector<Ints> ServeAll(SteppedBatcher& stepped) {
  std::vector<Ints> batches;
  stepped.backend().on_start = [&](const Batch& batch) {
    batches.push_back(Ids(batch));
  };
  stepped.Settle();
  stepped.backend().on_start = nullptr;
  return batches;
}

TEST(BatcherPriority, UrgentRequestsLeaveFirstAndOthersFillTheBatch) {
  SteppedBatcher stepped(
      {.batcher = {.max_batch_size = 3, .levels = {{}, {}, {}}}});
  std::deque<TestRequest> requests;
  for (int32_t level : {2, 1, 0, 2, 0, 1}) {
    requests.emplace_back(
        TestRequestOptions{.id = std::ssize(requests) + 1, .level = level});
    stepped.Submit(requests.back());
  }
  EXPECT_EQ(ServeAll(stepped), (std::vector<Ints>{{3, 5, 2}, {6, 1, 4}}));
}

TEST(BatcherPriority, UrgentShapeLeavesBeforeAnOlderOne) {
  SteppedBatcher stepped({.batcher = {.levels = {{}, {}}},
                          .backend = {.spec = RowSpec(kAnySize)}});
  TestRequest older({.id = 1, .width = 1, .level = 1});
  TestRequest urgent({.id = 2, .width = 2, .level = 0});
  stepped.Submit(older);
  stepped.clock().Advance(Milliseconds(1));
  stepped.Submit(urgent);
  EXPECT_EQ(ServeAll(stepped), (std::vector<Ints>{{2}, {1}}));
}

// Urgent work fills every batch; one lower request waits beside it.
TEST(BatcherPriority, LowerLevelKeepsItsFloor) {
  for (const int64_t width : {1, 2}) {  // in the same shape, and in its own
    SteppedBatcher stepped(
        {.batcher = {.max_batch_size = 4, .levels = {{}, {}}},
         .backend = {.spec = RowSpec(kAnySize)}});
    std::deque<TestRequest> requests;
    for (int64_t id = 0; id < 30; ++id) {
      requests.emplace_back(
          TestRequestOptions{.id = id, .rows = 4, .level = 0});
      stepped.Submit(requests.back());
    }
    TestRequest low({.id = 99, .width = width, .level = 1});
    stepped.Submit(low);
    const std::vector<Ints> batches = ServeAll(stepped);
    size_t turn = 0;
    while (batches[turn].front() != 99) {
      ++turn;
    }
    // A row of 20, or where the shape is its own, a batch of 20.
    EXPECT_GE(turn, width == 1 ? 4u : 17u);
    EXPECT_LE(turn, width == 1 ? 5u : 20u);
    EXPECT_TRUE(low.HasOwnRows());
  }
}

// What was admitted before the batch shrank is more than a level may save up.
TEST(BatcherPriority, LowerRequestLargerThanABatchIsNowKeepsItsFloor) {
  SteppedBatcher stepped(
      {.batcher = {.max_batch_size = 8, .levels = {{}, {}}}});
  TestRequest low({.id = 99, .rows = 8, .level = 1});
  stepped.Submit(low);
  Knobs knobs = stepped.batcher().knobs();
  knobs.max_batch_size = 4;
  ASSERT_TRUE(stepped.batcher().SetKnobs(knobs).ok());
  std::deque<TestRequest> requests;
  for (int64_t id = 0; id < 30; ++id) {
    requests.emplace_back(TestRequestOptions{.id = id, .rows = 4, .level = 0});
    stepped.Submit(requests.back());
  }
  const std::vector<Ints> batches = ServeAll(stepped);
  size_t turn = 0;
  while (batches[turn].front() != 99) {
    ++turn;
  }
  EXPECT_GE(turn, 17u);
  EXPECT_LE(turn, 20u) << "a batch of 20";
  EXPECT_TRUE(low.HasOwnRows());
}

TEST(BatcherPriority, FullLevelIsRefusedAndOthersAreNot) {
  SteppedBatcher stepped({.batcher = {.levels = {{}, {.max_requests = 1}}}});
  TestRequest first({.id = 1, .level = 1});
  TestRequest second({.id = 2, .level = 1});
  TestRequest urgent({.id = 3, .level = 0});
  stepped.Submit(first);
  const absl::Status status = stepped.TrySubmit(second);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "queue is full: it holds at most 1 requests of this priority");
  stepped.Submit(urgent);
  stepped.Settle();
  second.Reset();
  stepped.Submit(second);
  stepped.Settle();
  EXPECT_TRUE(second.HasOwnRows());
}

// s(b) = 1 ms, learned; two slots on one lane.
TEST(BatcherJustInTime, NextBatchClosesShortlyBeforeTheRunningOneEnds) {
  SteppedBatcher stepped({.backend = {.spec = RowSpec(), .slots = 2}});
  std::deque<TestRequest> requests;
  const auto submit = [&] {
    requests.emplace_back(TestRequestOptions{.id = std::ssize(requests)});
    stepped.Submit(requests.back());
    return stepped.Step();
  };
  ScriptedBackend& backend = stepped.backend();
  for (int i = 0; i < 60; ++i) {
    submit();
    backend.Stage(0);
    stepped.clock().Advance(Milliseconds(1));
    backend.Complete(0);
    stepped.Step();
  }
  submit();
  ASSERT_EQ(backend.running_count(), 1u);
  const TimePoint end = stepped.clock().Now() + Milliseconds(1);
  backend.Stage(0);
  const Wait wait = submit();
  EXPECT_EQ(backend.running_count(), 1u) << "a slot is free, but no lane";
  EXPECT_LT(wait.until, end);
  EXPECT_GT(wait.until, end - Milliseconds(0.2));
  EXPECT_EQ(wait.wake_at_rows, Wait::kNoRows) << "arrivals only join";
  submit();
  stepped.clock().Advance(wait.until - stepped.clock().Now());
  stepped.Step();
  ASSERT_EQ(backend.running_count(), 2u);
  EXPECT_EQ(backend.batch(1).rows(), 2) << "all that came until then";
  stepped.Settle();
}

TEST(BatcherJustInTime, LaneThatIsFreeEarlyIsFilledAtOnce) {
  SteppedBatcher stepped({.backend = {.spec = RowSpec(), .slots = 2}});
  TestRequest slow({.id = 1});
  stepped.Submit(slow);
  stepped.Step();
  stepped.backend().Stage(0);
  stepped.clock().Advance(Milliseconds(10));
  stepped.backend().CompleteAll();
  TestRequest running({.id = 2});
  TestRequest next({.id = 3});
  stepped.Submit(running);
  stepped.Step();  // expected to take 10 ms
  stepped.Submit(next);
  stepped.Step();
  ASSERT_EQ(stepped.backend().running_count(), 1u);
  stepped.backend().Stage(0);
  stepped.backend().EndCompute(0);
  stepped.Step();
  EXPECT_EQ(stepped.backend().running_count(), 2u);
  stepped.Settle();
}

TEST(BatcherKnobs, TakeEffectOnWhatIsQueued) {
  SteppedBatcher stepped(
      {.batcher = {.max_batch_size = 8, .policy = PolicyKind::kWindow}});
  TestRequest request({.id = 1, .rows = 4});
  stepped.Submit(request);
  stepped.Step();
  EXPECT_EQ(stepped.backend().running_count(), 0u);
  Knobs knobs = stepped.batcher().knobs();
  EXPECT_EQ(knobs.max_batch_size, 8);
  EXPECT_EQ(knobs.policy, PolicyKind::kWindow);
  knobs.max_batch_size = 2;
  ASSERT_TRUE(stepped.batcher().SetKnobs(knobs).ok());
  stepped.Step();
  EXPECT_EQ(stepped.backend().running_count(), 1u)
      << "larger than a batch may be now, it leaves alone";
  stepped.Settle();
  EXPECT_TRUE(request.HasOwnRows());
}

TEST(BatcherKnobs, OutOfRangeChangesNothing) {
  SteppedBatcher stepped({.batcher = {.max_batch_size = 8}});
  const absl::Status status = stepped.batcher().SetKnobs(
      {.max_batch_size = 9, .policy = PolicyKind::kWindow});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "max_batch_size: expected 1 to 8, got 9");
  EXPECT_EQ(stepped.batcher().knobs().policy, PolicyKind::kEager);
}

}  // namespace
}  // namespace ferry
