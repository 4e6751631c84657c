// Batcher: options and requests it refuses, with their messages and counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/stepped_batcher.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

uint64_t RefusedCount(const Batcher& batcher, Refusal reason) {
  return batcher.Snapshot().refused[static_cast<size_t>(reason)];
}

void ExpectRefusal(const absl::Status& status, absl::StatusCode code,
                   const char* message) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

// Of the batcher's counts: nothing of a refused request is left behind.
void ExpectEmpty(const Batcher& batcher) {
  const BatcherStatistics counts = batcher.Snapshot();
  EXPECT_EQ(counts.queued_requests, 0);
  EXPECT_EQ(counts.queued_rows, 0);
  EXPECT_EQ(counts.queued_bytes, 0);
}

TEST(BatcherOptions, OutOfRangeIsRefusedByName) {
  const struct {
    const char* message;
    void (*change)(BatcherOptions&);
  } kCases[] = {
      {"max_batch_size: expected 1 to 1048576, got 0",
       [](BatcherOptions& o) { o.max_batch_size = 0; }},
      {"max_requests_per_batch: expected 1 to 2147483647, got -1",
       [](BatcherOptions& o) { o.max_requests_per_batch = -1; }},
      {"queue.requests: expected 1 to 16777216, got 0",
       [](BatcherOptions& o) { o.queue.requests = 0; }},
      {"queue.rows: expected 1 to 67108864, got 0",
       [](BatcherOptions& o) { o.queue.rows = 0; }},
      {"queue.bytes: expected 1 to 70368744177664, got 0",
       [](BatcherOptions& o) { o.queue.bytes = 0; }},
      {"max_undelivered_batches: expected 1 to 1024, got 0",
       [](BatcherOptions& o) { o.max_undelivered_batches = 0; }},
      {"max_wait: expected at least 0",
       [](BatcherOptions& o) { o.max_wait = Duration(-1); }},
      {"max_batch_size: expected 1 to 1048576, got 2147483647",
       [](BatcherOptions& o) { o.max_batch_size = 2147483647; }},
      {"queue.requests: expected 1 to 16777216, got 2147483647",
       [](BatcherOptions& o) { o.queue.requests = 2147483647; }},
  };
  FakeClock clock;
  for (const auto& c : kCases) {
    BatcherOptions options{.stepping = Stepping::kByCaller, .clock = &clock};
    c.change(options);
    auto backend = std::make_unique<ScriptedBackend>(
        ScriptedBackendOptions{.spec = RowSpec(), .clock = &clock});
    ExpectRefusal(Batcher::Create(std::move(backend), options).status(),
                  absl::StatusCode::kInvalidArgument, c.message);
  }
}

TEST(BatcherOptions, OwnThreadTakesNoOtherClock) {
  FakeClock clock;
  auto backend = std::make_unique<ScriptedBackend>(
      ScriptedBackendOptions{.spec = RowSpec(), .clock = &clock});
  ExpectRefusal(Batcher::Create(std::move(backend), {.clock = &clock}).status(),
                absl::StatusCode::kInvalidArgument,
                "clock: expected Clock::Steady()");
}

TEST(BatcherRefusal, WhatAnEmptyQueueCannotTakeIsTooLargeForGood) {
  SteppedBatcher few_rows({.batcher = {.queue = {.rows = 2}}});
  SteppedBatcher few_bytes({.batcher = {.queue = {.bytes = 16}}});
  TestRequest request({.rows = 3});  // 24 bytes
  ExpectRefusal(few_rows.TrySubmit(request), absl::StatusCode::kInvalidArgument,
                "expected at most 2 rows, which is all the queue holds, "
                "got 3");
  ExpectRefusal(few_bytes.TrySubmit(request),
                absl::StatusCode::kInvalidArgument,
                "expected at most 16 bytes");
  EXPECT_EQ(RefusedCount(few_rows.batcher(), Refusal::kTooLarge), 1u);
  EXPECT_EQ(RefusedCount(few_bytes.batcher(), Refusal::kTooLarge), 1u);
  ExpectEmpty(few_rows.batcher());
  ExpectEmpty(few_bytes.batcher());
}

TEST(BatcherRefusal, FullQueueIsRefusedByEachBoundAndServesWhatItHolds) {
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
    SteppedBatcher stepped({.batcher = {.queue = c.bounds}});
    TestRequest first({.id = 1, .rows = 2});
    TestRequest second({.id = 2, .rows = 2});
    TestRequest third({.id = 3, .rows = 2});
    stepped.Submit(first);
    stepped.Submit(second);
    ExpectRefusal(stepped.TrySubmit(third),
                  absl::StatusCode::kResourceExhausted, c.message);
    EXPECT_EQ(RefusedCount(stepped.batcher(), c.reason), 1u);
    stepped.Step();
    stepped.Settle();
    EXPECT_TRUE(first.HasOwnRows());
    EXPECT_TRUE(second.HasOwnRows());
    ExpectEmpty(stepped.batcher());
    stepped.Submit(third);  // there is room again
    stepped.Settle();
    EXPECT_TRUE(third.HasOwnRows());
  }
}

TEST(BatcherRefusal, RoomInTheQueueComesBackAtEachStage) {
  SteppedBatcher stepped({.batcher = {.queue = {.requests = 1}}});
  TestRequest first({.id = 1});
  TestRequest second({.id = 2});
  stepped.Submit(first);
  EXPECT_FALSE(stepped.TrySubmit(second).ok());
  stepped.Step();  // closed: no longer queued
  EXPECT_EQ(stepped.batcher().Snapshot().queued_requests, 0);
  EXPECT_EQ(stepped.batcher().Snapshot().queued_bytes, 8)
      << "bytes are kept until the batch is staged";
  stepped.Submit(second);
  stepped.backend().Stage(0);
  EXPECT_EQ(stepped.batcher().Snapshot().queued_bytes, 8) << "of the second";
  stepped.Settle();
  ExpectEmpty(stepped.batcher());
}

TEST(BatcherRefusal, PassedDeadlineIsRefused) {
  SteppedBatcher stepped;
  TestRequest now({.deadline = stepped.clock().Now()});
  TestRequest ancient({.deadline = TimePoint::min()});
  for (TestRequest* request : {&now, &ancient}) {
    ExpectRefusal(stepped.TrySubmit(*request),
                  absl::StatusCode::kDeadlineExceeded,
                  "had passed its deadline when it arrived");
  }
  EXPECT_EQ(RefusedCount(stepped.batcher(), Refusal::kExpired), 2u);
  ExpectEmpty(stepped.batcher());
}

TEST(BatcherRefusal, DrainingRefusesAndServesWhatWasAdmitted) {
  SteppedBatcher stepped;
  TestRequest admitted({.id = 1});
  TestRequest late({.id = 2});
  stepped.Submit(admitted);
  stepped.batcher().BeginDrain();
  ExpectRefusal(stepped.TrySubmit(late), absl::StatusCode::kUnavailable,
                "draining");
  EXPECT_FALSE(stepped.batcher().idle());
  stepped.Settle();
  EXPECT_TRUE(admitted.HasOwnRows());
  EXPECT_TRUE(stepped.batcher().idle());
  EXPECT_EQ(RefusedCount(stepped.batcher(), Refusal::kDraining), 1u);
}

TEST(BatcherRefusal, BrokenBackendRefusesAndAnswersWhatIsQueued) {
  SteppedBatcher stepped;
  TestRequest running({.id = 1});
  TestRequest queued({.id = 2});
  TestRequest late({.id = 3});
  stepped.Submit(running);
  stepped.Step();
  stepped.Submit(queued);
  EXPECT_FALSE(stepped.batcher().broken());
  stepped.backend().Break();
  EXPECT_TRUE(stepped.batcher().broken());
  ExpectRefusal(stepped.TrySubmit(late), absl::StatusCode::kUnavailable,
                "device is lost");
  stepped.Step();
  EXPECT_EQ(queued.code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(running.completion().is_answered())
      << "it is the backend's to finish";
  stepped.backend().Complete(
      0, {absl::StatusCode::kUnavailable, "device fell off the bus"});
  EXPECT_EQ(running.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RefusedCount(stepped.batcher(), Refusal::kBroken), 1u);
  EXPECT_EQ(stepped.backend().started_count(), 1);
}

TEST(BatcherRefusal, RefusedRequestCanBeSubmittedAgain) {
  SteppedBatcher stepped({.batcher = {.queue = {.requests = 1}}});
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

TEST(BatcherRefusalDeathTest, RequestWithoutRowsOrCompletionIsABug) {
  SteppedBatcher stepped;
  TestRequest request;
  request.request().rows = 0;
  EXPECT_DEATH(stepped.TrySubmit(request).IgnoreError(), "has rows");
  request.request().rows = 1;
  request.request().completion = nullptr;
  EXPECT_DEATH(stepped.TrySubmit(request).IgnoreError(), "has rows");
}

}  // namespace
}  // namespace ferry
