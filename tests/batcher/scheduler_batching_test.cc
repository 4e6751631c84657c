// Tests which requests leave Scheduler together, and when (G2, G3).
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

std::vector<int64_t> Ids(const Batch& batch) {
  std::vector<int64_t> ids;
  for (const Batch::Entry& entry : batch.entries()) {
    ids.push_back(IdOf(*entry.request));
  }
  return ids;
}

uint64_t ClosedCount(Scheduler& scheduler, CloseReason reason) {
  return scheduler.Snapshot()
      .served.closed_batches[static_cast<size_t>(reason)]
      .value();
}

// Requests with ids 1, 2, 3, ... of those rows, submitted in that order.
std::deque<TestRequest> SubmitAll(SteppedScheduler& stepped,
                                  const std::vector<int32_t>& rows) {
  std::deque<TestRequest> requests;
  for (int32_t count : rows) {
    requests.emplace_back(
        TestRequestOptions{.id = std::ssize(requests) + 1, .rows = count});
    stepped.Submit(requests.back());
  }
  return requests;
}

using Ints = std::vector<int64_t>;

TEST(EagerBatching, IdleInstanceTakesALoneRequestAtOnce) {
  SteppedScheduler stepped;
  auto requests = SubmitAll(stepped, {1});
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(ClosedCount(stepped.scheduler(), CloseReason::kInstanceFree), 1u);
  stepped.Settle();
  EXPECT_TRUE(requests[0].HasOwnRows());
}

TEST(EagerBatching, RequestsGatherWhileTheInstanceIsBusy) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 8}});
  auto requests = SubmitAll(stepped, {1, 2});
  stepped.Step();
  auto more = SubmitAll(stepped, {1, 3, 2});
  const Wait wait = stepped.Step();
  EXPECT_EQ(wait.wake_at_rows, Wait::kNoRows)
      << "no arrival changes anything while none is idle";
  EXPECT_EQ(stepped.instances().started_count(), 1);
  stepped.instances().Stage(0);
  stepped.Step();
  EXPECT_EQ(stepped.instances().started_count(), 1);
  stepped.instances().EndCompute(0);
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 2u)
      << "the next batch starts before the replies of the last are out";
  EXPECT_EQ(Ids(stepped.instances().batch(1)), (Ints{1, 2, 3}));
  EXPECT_EQ(stepped.instances().batch(1).rows(), 6);
  stepped.Settle();
  for (TestRequest& request : more) {
    EXPECT_TRUE(request.HasOwnRows());
  }
}

TEST(EagerBatching, EveryInstanceIsGivenABatch) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 4},
                            .instances = {.spec = RowSpec(), .count = 3}});
  auto requests = SubmitAll(stepped, {2, 2, 2, 2, 2, 2, 2});
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 3u);
  EXPECT_EQ(Ids(stepped.instances().batch(0)), (Ints{1, 2}));
  EXPECT_EQ(Ids(stepped.instances().batch(1)), (Ints{3, 4}));
  EXPECT_EQ(Ids(stepped.instances().batch(2)), (Ints{5, 6}));
  EXPECT_EQ(ClosedCount(stepped.scheduler(), CloseReason::kFull), 3u);
  stepped.Settle();
}

TEST(EagerBatching, IdleSchedulerWaitsForOneRow) {
  SteppedScheduler stepped;
  const Wait wait = stepped.Step();
  EXPECT_EQ(wait.until, kNever);
  EXPECT_EQ(wait.wake_at_rows, 1);
}

TEST(Batching, RequestIsNeverSplitAndClosesABatchItDoesNotFit) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 8},
                            .instances = {.spec = RowSpec(), .count = 3}});
  auto requests = SubmitAll(stepped, {5, 4, 4, 1});
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 3u);
  EXPECT_EQ(Ids(stepped.instances().batch(0)), Ints{1});
  EXPECT_EQ(Ids(stepped.instances().batch(1)), (Ints{2, 3}));
  EXPECT_EQ(Ids(stepped.instances().batch(2)), Ints{4});
  stepped.Settle();
  for (TestRequest& request : requests) {
    EXPECT_TRUE(request.HasOwnRows());
  }
}

TEST(Batching, MaxRequestsPerBatchIsKept) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 8, .max_requests_per_batch = 2},
       .instances = {.spec = RowSpec(), .count = 2}});
  auto requests = SubmitAll(stepped, {1, 1, 1});
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 2u);
  EXPECT_EQ(Ids(stepped.instances().batch(0)), (Ints{1, 2}));
  EXPECT_EQ(Ids(stepped.instances().batch(1)), Ints{3});
  EXPECT_EQ(ClosedCount(stepped.scheduler(), CloseReason::kFull), 1u);
  stepped.Settle();
}

TEST(Batching, ShapesGatherApartAndDoNotCloseEachOther) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 2, .policy = PolicyKind::kWindow},
       .instances = {.spec = RowSpec(kAnySize), .count = 4}});
  TestRequest a({.id = 1, .width = 2});
  TestRequest b({.id = 2, .width = 3});
  TestRequest c({.id = 3, .width = 2});
  stepped.Submit(a);
  EXPECT_EQ(stepped.Step().wake_at_rows, 2);
  stepped.Submit(b);
  EXPECT_EQ(stepped.Step().wake_at_rows, 3) << "one more can fill either";
  EXPECT_EQ(stepped.instances().running_count(), 0u);
  stepped.Submit(c);
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(Ids(stepped.instances().batch(0)), (Ints{1, 3}));
  EXPECT_EQ(ClosedCount(stepped.scheduler(), CloseReason::kFull), 1u);
  stepped.clock().Advance(Milliseconds(5));
  stepped.Settle();
  for (TestRequest* request : {&a, &b, &c}) {
    EXPECT_TRUE(request->HasOwnRows());
  }
}

TEST(Batching, OfManyShapesTheOneThatWaitsForTheLongestLeavesFirst) {
  SteppedScheduler stepped({.instances = {.spec = RowSpec(kAnySize)}});
  std::deque<TestRequest> requests;
  for (int64_t id = 1; id <= 9; ++id) {
    requests.emplace_back(
        TestRequestOptions{.id = id, .width = 1 + (id * 2) % 3});
    stepped.Submit(requests.back());
    stepped.clock().Advance(Milliseconds(1));
  }
  std::vector<Ints> batches;
  stepped.instances().on_start = [&](const Batch& batch) {
    batches.push_back(Ids(batch));
  };
  stepped.Settle();
  EXPECT_EQ(batches, (std::vector<Ints>{{1, 4, 7}, {2, 5, 8}, {3, 6, 9}}));
}

TEST(Batching, EqualKeysOfDifferentShapesAreNotMixed) {
  SteppedScheduler stepped(
      {.instances = {.spec = RowSpec(kAnySize), .count = 2}});
  TestRequest a({.id = 1, .width = 2});
  TestRequest b({.id = 2, .width = 3});
  b.request().shape_key = a.request().shape_key;  // a collision
  stepped.Submit(a);
  stepped.Submit(b);
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 2u);
  stepped.Settle();
  EXPECT_TRUE(a.HasOwnRows());
  EXPECT_TRUE(b.HasOwnRows());
}

TEST(WindowBatching, LoneRequestLeavesAfterMaxWait) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 4,
                                          .policy = PolicyKind::kWindow,
                                          .max_wait = Milliseconds(5)}});
  const TimePoint arrival = stepped.clock().Now();
  auto requests = SubmitAll(stepped, {1});
  const Wait wait = stepped.Step();
  EXPECT_EQ(wait.until, arrival + Milliseconds(5));
  EXPECT_EQ(wait.wake_at_rows, 4);
  stepped.clock().Advance(Milliseconds(5) - Duration(1));
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 0u);
  stepped.clock().Advance(Duration(1));
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(ClosedCount(stepped.scheduler(), CloseReason::kMaxWait), 1u);
  stepped.Settle();
}

TEST(WindowBatching, FullBatchLeavesAtOnceAndTheRestWaitsItsOwnTime) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 4,
                                          .policy = PolicyKind::kWindow,
                                          .max_wait = Milliseconds(5)},
                            .instances = {.spec = RowSpec(), .count = 2}});
  auto first = SubmitAll(stepped, {2});
  stepped.Step();
  stepped.clock().Advance(Milliseconds(3));
  auto more = SubmitAll(stepped, {2, 1});
  const Wait wait = stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(stepped.instances().batch(0).rows(), 4);
  EXPECT_EQ(wait.until, stepped.clock().Now() + Milliseconds(5));
  stepped.clock().Advance(Milliseconds(5));
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 2u);
  stepped.Settle();
}

TEST(WindowBatching, FullInRequestsWakesAnInstance) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 64,
                                          .max_requests_per_batch = 3,
                                          .policy = PolicyKind::kWindow}});
  auto requests = SubmitAll(stepped, {5});
  EXPECT_EQ(stepped.Step().wake_at_rows, 7)
      << "two more requests, of a row at least, make it full";
  auto more = SubmitAll(stepped, {1, 1});
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u);
  stepped.Settle();
}

TEST(WindowBatching, WaitedLongEnoughBesideABusyInstanceLeavesAtOnce) {
  SteppedScheduler stepped({.scheduler = {.policy = PolicyKind::kWindow,
                                          .max_wait = Milliseconds(5)}});
  auto first = SubmitAll(stepped, {1});
  stepped.clock().Advance(Milliseconds(5));
  stepped.Step();
  auto second = SubmitAll(stepped, {1});
  stepped.clock().Advance(Milliseconds(50));
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u);
  stepped.instances().Complete(0);
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u);
  stepped.Settle();
  EXPECT_TRUE(second[0].HasOwnRows());
}

TEST(WindowBatching, DrainDoesNotWaitForCompany) {
  SteppedScheduler stepped({.scheduler = {.policy = PolicyKind::kWindow}});
  auto requests = SubmitAll(stepped, {1});
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 0u);
  stepped.scheduler().BeginDrain();
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(ClosedCount(stepped.scheduler(), CloseReason::kDrain), 1u);
  stepped.Settle();
}

TEST(Batching, UndeliveredBatchesAreBounded) {
  SteppedScheduler stepped({.scheduler = {.max_undelivered_batches = 2}});
  std::deque<TestRequest> requests;
  for (int64_t i = 1; i <= 5; ++i) {
    requests.emplace_back(TestRequestOptions{.id = i});
    stepped.Submit(requests.back());
    stepped.Step();
    if (stepped.instances().computing_count() == 0) {
      break;  // the instance is idle and got nothing
    }
    const size_t newest = stepped.instances().running_count() - 1;
    stepped.instances().Stage(newest);
    stepped.instances().EndCompute(newest);
  }
  EXPECT_EQ(stepped.instances().running_count(), 3u)
      << "one instance and two undelivered batches";
  stepped.instances().Finish(0);
  stepped.Step();
  EXPECT_EQ(stepped.instances().started_count(), 4);
  stepped.Settle();
  for (TestRequest& request : requests) {
    EXPECT_TRUE(request.HasOwnRows());
  }
}

TEST(Batching, FailedBatchFailsOnlyItsOwnRequests) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 2},
                            .instances = {.spec = RowSpec(), .count = 2}});
  auto requests = SubmitAll(stepped, {1, 1, 1, 1});
  stepped.Step();
  stepped.instances().Complete(
      1, {absl::StatusCode::kInternal, "second batch failed"});
  stepped.instances().Complete(0);
  EXPECT_TRUE(requests[0].HasOwnRows());
  EXPECT_TRUE(requests[1].HasOwnRows());
  EXPECT_EQ(requests[2].code(), absl::StatusCode::kInternal);
  EXPECT_EQ(requests[3].code(), absl::StatusCode::kInternal);
  stepped.Settle();
}

}  // namespace
}  // namespace ferry
