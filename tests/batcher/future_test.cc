// Tests that each Future gets its one answer.
#include "batcher/future.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/sim/echo_model.h"
#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using absl::StatusCode;

InferArguments ArgumentsOf(const TestRequest& request) {
  return {.inputs = request.request().inputs,
          .rows = request.request().rows,
          .deadline = request.request().deadline};
}

int64_t FirstElement(const Reply& reply) {
  return reinterpret_cast<const int64_t*>(
      reply.output->tensors()[0].data)[reply.first_row];
}

TEST(Future, GetsTheRowsOfItsRequest) {
  SteppedScheduler stepped;
  TestRequest first({.id = 1, .rows = 2});
  TestRequest second({.id = 2, .rows = 1});
  absl::StatusOr<Future> a = Infer(stepped.scheduler(), ArgumentsOf(first));
  absl::StatusOr<Future> b = Infer(stepped.scheduler(), ArgumentsOf(second));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE(a->IsReady());
  stepped.Step();
  stepped.Settle();
  EXPECT_TRUE(a->IsReady());
  const Reply reply = a->Get();
  EXPECT_TRUE(reply.outcome.ok());
  EXPECT_EQ(reply.rows, 2);
  EXPECT_EQ(FirstElement(reply), 1000);
  EXPECT_EQ(FirstElement(b->Get()), 2000);
}

TEST(Future, BytesAndShapeOfItsInputsAreCounted) {
  SteppedScheduler stepped(
      {.instances = {.spec = RowSpec(kAnySize), .count = 2}});
  TestRequest narrow({.id = 1, .rows = 2, .width = 1});
  TestRequest wide({.id = 2, .rows = 1, .width = 3});
  absl::StatusOr<Future> a = Infer(stepped.scheduler(), ArgumentsOf(narrow));
  absl::StatusOr<Future> b = Infer(stepped.scheduler(), ArgumentsOf(wide));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(stepped.scheduler().Snapshot().queued_bytes, 5 * 8);
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 2u) << "shapes were mixed";
  stepped.Settle();
}

TEST(Future, ErrorsComeAsTheOutcomeOfTheReply) {
  SteppedScheduler stepped;
  TestRequest request({.deadline = stepped.clock().Now() + Milliseconds(1)});
  absl::StatusOr<Future> running =
      Infer(stepped.scheduler(), ArgumentsOf(request));
  stepped.Step();
  absl::StatusOr<Future> expired =
      Infer(stepped.scheduler(), ArgumentsOf(request));
  ASSERT_TRUE(running.ok() && expired.ok());
  stepped.clock().Advance(Milliseconds(1));
  stepped.Step();
  Reply reply = expired->Get();
  EXPECT_EQ(reply.outcome.code, StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(reply.output);
  stepped.instances().Complete(0, {StatusCode::kInternal, "failed"});
  EXPECT_EQ(running->Get().outcome.code, StatusCode::kInternal);
}

TEST(Future, CancelEndsAQueuedRequest) {
  SteppedScheduler stepped;
  TestRequest request;
  absl::StatusOr<Future> running =
      Infer(stepped.scheduler(), ArgumentsOf(request));
  stepped.Step();
  absl::StatusOr<Future> queued =
      Infer(stepped.scheduler(), ArgumentsOf(request));
  ASSERT_TRUE(running.ok() && queued.ok());
  queued->Cancel();
  stepped.Step();
  EXPECT_EQ(queued->Get().outcome.code, StatusCode::kCancelled);
  stepped.Settle();
  EXPECT_TRUE(running->Get().outcome.ok());
}

TEST(Future, RefusalOfTheSchedulerIsReturned) {
  SteppedScheduler stepped({.scheduler = {.queue = {.rows = 2}}});
  TestRequest too_large({.rows = 3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        Infer(stepped.scheduler(), ArgumentsOf(too_large)).status().code(),
        StatusCode::kInvalidArgument);
  }
}

std::unique_ptr<Scheduler> MakeEcho(int32_t count) {
  std::vector<std::unique_ptr<Instance>> instances;
  for (int32_t i = 0; i < count; ++i) {
    instances.push_back(*CpuInstance::Create(*EchoModel::Create(RowSpec())));
  }
  return *Scheduler::Create(std::move(instances), {.max_batch_size = 8});
}

TEST(Future, UnreadReplyIsWaitedFor) {
  const auto scheduler = MakeEcho(1);
  TestRequest request;
  for (int i = 0; i < 100; ++i) {
    absl::StatusOr<Future> unread = Infer(*scheduler, ArgumentsOf(request));
    ASSERT_TRUE(unread.ok()) << unread.status();
    Future moved = *std::move(unread);
  }
}

TEST(Future, CancelAtAnyMomentHasOneAnswer) {
  const auto scheduler = MakeEcho(1);
  TestRequest request({.id = 1});
  for (int i = 0; i < 1000; ++i) {
    absl::StatusOr<Future> future = Infer(*scheduler, ArgumentsOf(request));
    ASSERT_TRUE(future.ok()) << future.status() << ", request " << i;
    if (i % 3 == 0) {
      future->Cancel();
    }
    future->Get();
  }
}

TEST(Future, ManyThreadsEachGetTheirOwnRows) {
  const auto scheduler = MakeEcho(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&scheduler, t] {
      for (int i = 0; i < 300; ++i) {
        TestRequest a({.id = t * 1000 + i});
        TestRequest b({.id = t * 1000 + i + 500});
        absl::StatusOr<Future> first = Infer(*scheduler, ArgumentsOf(a));
        absl::StatusOr<Future> second = Infer(*scheduler, ArgumentsOf(b));
        ASSERT_TRUE(first.ok() && second.ok());
        EXPECT_EQ(FirstElement(second->Get()), b.id() * 1000);
        EXPECT_EQ(FirstElement(first->Get()), a.id() * 1000);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace ferry
