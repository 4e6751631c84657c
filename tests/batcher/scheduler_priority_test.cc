// Tests levels of priority, their floor against starvation, and closing just in
// time with two batches in flight. All on a fake clock.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/support/stepped_scheduler.h"

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
std::vector<Ints> ServeAll(SteppedScheduler& stepped) {
  std::vector<Ints> batches;
  stepped.instances().on_start = [&](const Batch& batch) {
    batches.push_back(Ids(batch));
  };
  stepped.Settle();
  stepped.instances().on_start = nullptr;
  return batches;
}

TEST(SchedulerPriority, UrgentRequestsLeaveFirstAndOthersFillTheBatch) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 3, .levels = {{}, {}, {}}}});
  std::deque<TestRequest> requests;
  for (int32_t level : {2, 1, 0, 2, 0, 1}) {
    requests.emplace_back(
        TestRequestOptions{.id = std::ssize(requests) + 1, .level = level});
    stepped.Submit(requests.back());
  }
  EXPECT_EQ(ServeAll(stepped), (std::vector<Ints>{{3, 5, 2}, {6, 1, 4}}));
}

TEST(SchedulerPriority, UrgentShapeLeavesBeforeAnOlderOne) {
  SteppedScheduler stepped({.scheduler = {.levels = {{}, {}}},
                            .instances = {.spec = RowSpec(kAnySize)}});
  TestRequest older({.id = 1, .width = 1, .level = 1});
  TestRequest urgent({.id = 2, .width = 2, .level = 0});
  stepped.Submit(older);
  stepped.clock().Advance(Milliseconds(1));
  stepped.Submit(urgent);
  EXPECT_EQ(ServeAll(stepped), (std::vector<Ints>{{2}, {1}}));
}

// Else a trickle of urgent requests in a shape of their own would fill the
// device with small batches.
TEST(SchedulerPriority, FullBatchLeavesAfterOneThatWasNotWhateverItsLevel) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 4, .levels = {{}, {}}},
       .instances = {.spec = RowSpec(kAnySize)}});
  TestRequest first({.id = 1, .width = 1, .level = 0});
  TestRequest full({.id = 2, .rows = 4, .width = 2, .level = 1});
  TestRequest urgent({.id = 3, .width = 1, .level = 0});
  TestRequest low({.id = 4, .rows = 3, .width = 2, .level = 1});
  stepped.Submit(first);
  stepped.Step();
  stepped.Submit(urgent);
  stepped.Submit(full);
  stepped.Submit(low);
  EXPECT_EQ(ServeAll(stepped), (std::vector<Ints>{{2}, {3}, {4}}));
}

// Urgent work fills every batch; one lower request waits beside it.
TEST(SchedulerPriority, LowerLevelKeepsItsFloor) {
  for (const int64_t width : {1, 2}) {  // in the same shape, and in its own
    SteppedScheduler stepped(
        {.scheduler = {.max_batch_size = 4, .levels = {{}, {}}},
         .instances = {.spec = RowSpec(kAnySize)}});
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
TEST(SchedulerPriority, LowerRequestLargerThanABatchIsNowKeepsItsFloor) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 8, .levels = {{}, {}}}});
  TestRequest low({.id = 99, .rows = 8, .level = 1});
  stepped.Submit(low);
  RuntimeOptions options = stepped.scheduler().runtime_options();
  options.max_batch_size = 4;
  ASSERT_TRUE(stepped.scheduler().SetRuntimeOptions(options).ok());
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

TEST(SchedulerPriority, FullLevelIsRefusedAndOthersAreNot) {
  SteppedScheduler stepped(
      {.scheduler = {.levels = {{}, {.max_requests = 1}}}});
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

// s(b) = 1 ms, learned; one instance with two batches in flight.
TEST(SchedulerJustInTime, NextBatchClosesShortlyBeforeTheRunningOneEnds) {
  SteppedScheduler stepped(
      {.instances = {.spec = RowSpec(), .max_in_flight = 2}});
  std::deque<TestRequest> requests;
  const auto submit = [&] {
    requests.emplace_back(TestRequestOptions{.id = std::ssize(requests)});
    stepped.Submit(requests.back());
    return stepped.Step();
  };
  ScriptedInstances& instances = stepped.instances();
  for (int i = 0; i < 60; ++i) {
    submit();
    instances.Stage(0);
    stepped.clock().Advance(Milliseconds(1));
    instances.Complete(0);
    stepped.Step();
  }
  submit();
  ASSERT_EQ(instances.running_count(), 1u);
  const TimePoint end = stepped.clock().Now() + Milliseconds(1);
  instances.Stage(0);
  const Wait wait = submit();
  EXPECT_EQ(instances.running_count(), 1u) << "it may grow yet";
  EXPECT_LT(wait.until, end);
  EXPECT_GT(wait.until, end - Milliseconds(0.2));
  EXPECT_EQ(wait.wake_at_rows, 64) << "fewer arrivals only join";
  submit();
  stepped.clock().Advance(wait.until - stepped.clock().Now());
  stepped.Step();
  ASSERT_EQ(instances.running_count(), 2u);
  EXPECT_EQ(instances.batch(1).rows(), 2) << "all that came until then";
  stepped.Settle();
}

TEST(SchedulerRuntimeOptions, TakeEffectOnWhatIsQueued) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 8, .policy = PolicyKind::kWindow}});
  TestRequest request({.id = 1, .rows = 4});
  stepped.Submit(request);
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 0u);
  RuntimeOptions options = stepped.scheduler().runtime_options();
  EXPECT_EQ(options.max_batch_size, 8);
  EXPECT_EQ(options.policy, PolicyKind::kWindow);
  options.max_batch_size = 2;
  ASSERT_TRUE(stepped.scheduler().SetRuntimeOptions(options).ok());
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u)
      << "larger than a batch may be now, it leaves alone";
  stepped.Settle();
  EXPECT_TRUE(request.HasOwnRows());
}

TEST(SchedulerRuntimeOptions, OutOfRangeChangesNothing) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 8}});
  const absl::Status status = stepped.scheduler().SetRuntimeOptions(
      {.max_batch_size = 9, .policy = PolicyKind::kWindow});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "max_batch_size: expected 1 to 8, got 9");
  EXPECT_EQ(stepped.scheduler().runtime_options().policy, PolicyKind::kEager);
}

}  // namespace
}  // namespace ferry
