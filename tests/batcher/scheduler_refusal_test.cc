// Tests that Scheduler refuses wrong options and requests, and counts these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

uint64_t RefusedCount(const Scheduler& scheduler, Refusal reason) {
  return scheduler.Snapshot().refused[static_cast<size_t>(reason)];
}

void ExpectRefusal(const absl::Status& status, absl::StatusCode code,
                   const char* message) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

// Expects that nothing of a refused request is left in the scheduler's counts.
void ExpectEmpty(const Scheduler& scheduler) {
  const SchedulerStatistics counts = scheduler.Snapshot();
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
  EXPECT_EQ(counts.queued_bytes, 0);
}

TEST(SchedulerOptions, OutOfRangeIsRefusedByName) {
  const struct {
    const char* message;
    void (*change)(SchedulerOptions&);
  } kCases[] = {
      {"max_batch_size: expected 1 to 1048576, got 0",
       [](SchedulerOptions& o) { o.max_batch_size = 0; }},
      {"max_requests_per_batch: expected 1 to 2147483647, got -1",
       [](SchedulerOptions& o) { o.max_requests_per_batch = -1; }},
      {"queue.requests: expected 1 to 16777216, got 0",
       [](SchedulerOptions& o) { o.queue.requests = 0; }},
      {"queue.rows: expected 1 to 67108864, got 0",
       [](SchedulerOptions& o) { o.queue.rows = 0; }},
      {"queue.bytes: expected 1 to 70368744177664, got 0",
       [](SchedulerOptions& o) { o.queue.bytes = 0; }},
      {"max_undelivered_batches: expected 1 to 1024, got 0",
       [](SchedulerOptions& o) { o.max_undelivered_batches = 0; }},
      {"max_wait: expected at least 0",
       [](SchedulerOptions& o) { o.max_wait = Duration(-1); }},
      {"max_batch_size: expected 1 to 1048576, got 2147483647",
       [](SchedulerOptions& o) { o.max_batch_size = 2147483647; }},
      {"queue.requests: expected 1 to 16777216, got 2147483647",
       [](SchedulerOptions& o) { o.queue.requests = 2147483647; }},
  };
  FakeClock clock;
  for (const auto& c : kCases) {
    SchedulerOptions options{.clock = &clock};
    c.change(options);
    ExpectRefusal(Scheduler::Create(PulledInstances(), options).status(),
                  absl::StatusCode::kInvalidArgument, c.message);
  }
}

TEST(SchedulerRefusal, WhatAnEmptyQueueCannotTakeIsTooLargeForGood) {
  SteppedScheduler few_rows({.scheduler = {.queue = {.rows = 2}}});
  SteppedScheduler few_bytes({.scheduler = {.queue = {.bytes = 16}}});
  TestRequest request({.rows = 3});  // 24 bytes
  ExpectRefusal(few_rows.TrySubmit(request), absl::StatusCode::kInvalidArgument,
                "expected at most 2 rows, which is all the queue holds, "
                "got 3");
  ExpectRefusal(few_bytes.TrySubmit(request),
                absl::StatusCode::kInvalidArgument,
                "expected at most 16 bytes");
  EXPECT_EQ(RefusedCount(few_rows.scheduler(), Refusal::kTooLarge), 1u);
  EXPECT_EQ(RefusedCount(few_bytes.scheduler(), Refusal::kTooLarge), 1u);
  ExpectEmpty(few_rows.scheduler());
  ExpectEmpty(few_bytes.scheduler());
}

TEST(SchedulerRefusal, FullQueueIsRefusedByEachBoundAndServesWhatItHolds) {
  const struct {
    QueueBounds bounds;  // room for two requests of two rows of 16 bytes
    Refusal reason;
    const char* message;
  } kCases[] = {
      {{.requests = 2}, Refusal::kQueueRequests, "holds at most 2 requests"},
      {{.rows = 4}, Refusal::kQueueRows, "holds at most 4 rows"},
      {{.bytes = 32},
       Refusal::kQueueBytes,
       "holds at most 32 bytes, the request brings 16"},
  };
  for (const auto& c : kCases) {
    SteppedScheduler stepped({.scheduler = {.queue = c.bounds}});
    TestRequest first({.id = 1, .rows = 2});
    TestRequest second({.id = 2, .rows = 2});
    TestRequest third({.id = 3, .rows = 2});
    stepped.Submit(first);
    stepped.Submit(second);
    ExpectRefusal(stepped.TrySubmit(third),
                  absl::StatusCode::kResourceExhausted, c.message);
    EXPECT_EQ(RefusedCount(stepped.scheduler(), c.reason), 1u);
    stepped.Step();
    stepped.Settle();
    EXPECT_TRUE(first.HasOwnRows());
    EXPECT_TRUE(second.HasOwnRows());
    ExpectEmpty(stepped.scheduler());
    stepped.Submit(third);  // there is room again
    stepped.Settle();
    EXPECT_TRUE(third.HasOwnRows());
  }
}

TEST(SchedulerRefusal, RoomInTheQueueComesBackAtEachStage) {
  SteppedScheduler stepped({.scheduler = {.queue = {.requests = 1}}});
  TestRequest first({.id = 1});
  TestRequest second({.id = 2});
  stepped.Submit(first);
  EXPECT_FALSE(stepped.TrySubmit(second).ok());
  stepped.Step();  // closed: no longer queued
  EXPECT_EQ(stepped.scheduler().Snapshot().queued_requests, 0);
  EXPECT_EQ(stepped.scheduler().Snapshot().queued_bytes, 8)
      << "bytes are kept until the batch is computed";
  stepped.Submit(second);
  stepped.instances().Stage(0);
  EXPECT_EQ(stepped.scheduler().Snapshot().queued_bytes, 16);
  stepped.instances().EndCompute(0);
  EXPECT_EQ(stepped.scheduler().Snapshot().queued_bytes, 8) << "of the second";
  stepped.Settle();
  ExpectEmpty(stepped.scheduler());
}

TEST(SchedulerRefusal, PassedDeadlineIsRefused) {
  SteppedScheduler stepped;
  TestRequest now({.deadline = stepped.clock().Now()});
  TestRequest ancient({.deadline = TimePoint::min()});
  for (TestRequest* request : {&now, &ancient}) {
    ExpectRefusal(stepped.TrySubmit(*request),
                  absl::StatusCode::kDeadlineExceeded,
                  "had passed its deadline when it arrived");
  }
  EXPECT_EQ(RefusedCount(stepped.scheduler(), Refusal::kExpired), 2u);
  ExpectEmpty(stepped.scheduler());
}

TEST(SchedulerRefusal, DrainingRefusesAndServesWhatWasAdmitted) {
  SteppedScheduler stepped;
  TestRequest admitted({.id = 1});
  TestRequest late({.id = 2});
  stepped.Submit(admitted);
  stepped.scheduler().BeginDrain();
  ExpectRefusal(stepped.TrySubmit(late), absl::StatusCode::kUnavailable,
                "draining");
  EXPECT_FALSE(stepped.scheduler().IsIdle());
  stepped.Settle();
  EXPECT_TRUE(admitted.HasOwnRows());
  EXPECT_TRUE(stepped.scheduler().IsIdle());
  EXPECT_EQ(RefusedCount(stepped.scheduler(), Refusal::kDraining), 1u);
}

TEST(SchedulerRefusal, LostDeviceRefusesAndAnswersWhatIsQueued) {
  SteppedScheduler stepped;
  TestRequest running({.id = 1});
  TestRequest queued({.id = 2});
  TestRequest late({.id = 3});
  stepped.Submit(running);
  stepped.Step();
  stepped.Submit(queued);
  EXPECT_FALSE(stepped.scheduler().is_device_lost());
  stepped.instances().Stage(0);
  stepped.instances().Break(0);
  EXPECT_TRUE(stepped.scheduler().is_device_lost());
  EXPECT_EQ(queued.code(), absl::StatusCode::kUnavailable);
  ExpectRefusal(stepped.TrySubmit(late), absl::StatusCode::kUnavailable,
                "device is lost");
  EXPECT_FALSE(running.completion().is_answered())
      << "it is the instance's to deliver";
  stepped.Settle();
  EXPECT_EQ(running.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(RefusedCount(stepped.scheduler(), Refusal::kBroken), 1u);
  EXPECT_EQ(stepped.instances().started_count(), 1);
}

TEST(SchedulerRefusal, RefusedRequestCanBeSubmittedAgain) {
  SteppedScheduler stepped({.scheduler = {.queue = {.requests = 1}}});
  TestRequest first({.id = 1});
  TestRequest second({.id = 2});
  stepped.Submit(first);
  EXPECT_FALSE(stepped.TrySubmit(second).ok());
  stepped.Cancel(second);  // of a refused request: nothing happens
  stepped.Step();
  EXPECT_FALSE(second.completion().is_answered());
  second.Reset();
  stepped.Submit(second);
  stepped.Settle();
  EXPECT_TRUE(second.HasOwnRows());
}

TEST(SchedulerRefusalDeathTest, RequestWithoutRowsOrCompletionIsABug) {
  SteppedScheduler stepped;
  TestRequest request;
  request.request().rows = 0;
  EXPECT_DEATH(stepped.TrySubmit(request).IgnoreError(), "has rows");
  request.request().rows = 1;
  request.request().completion = nullptr;
  EXPECT_DEATH(stepped.TrySubmit(request).IgnoreError(), "has rows");
}

}  // namespace
}  // namespace ferry
