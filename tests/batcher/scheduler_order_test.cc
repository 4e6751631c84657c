// Tests that replies keep the order of arrival (`preserve_ordering`), and that
// a batch leaves when it is large enough (`enough_rows`).
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using absl::StatusCode;

SteppedSchedulerOptions Ordered(int32_t max_batch_size, int32_t instances) {
  return {.scheduler = {.max_batch_size = max_batch_size,
                        .preserve_ordering = true},
          .instances = {.spec = RowSpec(kAnySize), .count = instances}};
}

TEST(SchedulerOrder, FasterInstanceWaitsForTheOneBeforeIt) {
  SteppedScheduler stepped(Ordered(1, 2));
  TestRequest first({.id = 1});
  TestRequest second({.id = 2});
  stepped.Submit(first);
  stepped.Submit(second);
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 2u);
  stepped.instances().Complete(1);
  EXPECT_FALSE(second.completion().is_answered());
  stepped.instances().Complete(0);
  EXPECT_TRUE(first.HasOwnRows());
  EXPECT_TRUE(second.HasOwnRows());
  stepped.Step();
  EXPECT_TRUE(stepped.scheduler().IsIdle());
}

TEST(SchedulerOrder, WhatWaitsForASlowBatchIsBounded) {
  SteppedSchedulerOptions options = Ordered(1, 2);
  options.scheduler.max_undelivered_batches = 1;
  SteppedScheduler stepped(options);
  std::deque<TestRequest> requests;
  for (int64_t id = 0; id < 6; ++id) {
    stepped.Submit(requests.emplace_back(TestRequestOptions{.id = id}));
  }
  stepped.Step();
  for (int i = 0; i < 4; ++i) {
    while (stepped.instances().running_count() > 1) {
      stepped.instances().Complete(1);
    }
    stepped.Step();
  }
  EXPECT_EQ(stepped.instances().started_count(), 3)
      << "two instances and one more";
  for (int i = 0; i < 4; ++i) {
    stepped.Settle();
  }
  for (const TestRequest& request : requests) {
    EXPECT_TRUE(request.HasOwnRows());
  }
}

TEST(SchedulerOrder, AnotherShapeClosesTheBatch) {
  SteppedScheduler stepped(Ordered(8, 1));
  std::deque<TestRequest> requests;
  for (const int64_t width : {1, 1, 2, 1}) {
    stepped.clock().Advance(Duration(10));
    stepped.Submit(requests.emplace_back(
        TestRequestOptions{.id = std::ssize(requests), .width = width}));
  }
  for (const int32_t rows : {2, 1, 1}) {
    stepped.Step();
    ASSERT_EQ(stepped.instances().running_count(), 1u);
    EXPECT_EQ(stepped.instances().batch(0).rows(), rows);
    stepped.instances().Complete(0);
  }
}

TEST(SchedulerOrder, WhatAnotherShapeClosedDoesNotWaitForTheWindow) {
  SteppedSchedulerOptions options = Ordered(8, 1);
  options.scheduler.policy = PolicyKind::kWindow;
  SteppedScheduler stepped(options);
  TestRequest narrow({.id = 1, .width = 1});
  TestRequest wide({.id = 2, .width = 2});
  stepped.Submit(narrow);
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 0u);
  stepped.clock().Advance(Duration(10));
  stepped.Submit(wide);
  EXPECT_TRUE(stepped.IsStepDue());
  stepped.Step();
  EXPECT_EQ(stepped.instances().running_count(), 1u);
  stepped.clock().Advance(Milliseconds(5));
  stepped.Settle();
  stepped.Settle();
  EXPECT_TRUE(wide.HasOwnRows());
}

TEST(SchedulerOrder, WhatIsCancelledWhileQueuedIsAnsweredAtOnce) {
  SteppedScheduler stepped(Ordered(1, 1));
  TestRequest running({.id = 1});
  TestRequest cancelled({.id = 2});
  TestRequest last({.id = 3});
  for (TestRequest* request : {&running, &cancelled, &last}) {
    stepped.Submit(*request);
  }
  stepped.Step();
  stepped.Cancel(cancelled);
  stepped.Step();
  EXPECT_EQ(cancelled.code(), StatusCode::kCancelled);
  EXPECT_FALSE(running.completion().is_answered());
  stepped.Settle();
  stepped.Settle();
  EXPECT_TRUE(last.HasOwnRows());
}

TEST(SchedulerOrder, ParkedBatchIsAnsweredWhenTheSchedulerIsDestroyed) {
  SteppedScheduler stepped(Ordered(1, 2));
  TestRequest first({.id = 1});
  TestRequest second({.id = 2});
  stepped.Submit(first);
  stepped.Submit(second);
  stepped.Step();
  stepped.instances().Complete(1);
  stepped.Destroy();
  EXPECT_TRUE(first.HasOwnRows());
  EXPECT_TRUE(second.HasOwnRows());
}

TEST(SchedulerOrder, SeveralLevelsAreRefused) {
  FakeClock clock;
  SchedulerOptions options{.preserve_ordering = true, .clock = &clock};
  options.levels.resize(2);
  EXPECT_EQ(Scheduler::Create(PulledInstances(), options).status().message(),
            "preserve_ordering: expected one level of priority with it, got "
            "several");
}

// Plays random shapes, sizes, cancels and instances: served requests are
// answered in order of arrival, and all are answered.
void PlayInOrder(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&random](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  SteppedSchedulerOptions options = Ordered(uniform(1, 5), uniform(1, 3));
  options.instances.max_in_flight = uniform(1, 2);
  options.scheduler.policy = static_cast<PolicyKind>(uniform(0, 2));
  options.scheduler.max_undelivered_batches = uniform(1, 3);
  SteppedScheduler stepped(options);
  std::deque<TestRequest> requests;
  std::vector<int64_t> served;
  int accepted = 0;
  for (int i = 0; i < 400; ++i) {
    const int32_t dice = uniform(1, 10);
    if (dice <= 4) {
      TestRequest& request =
          requests.emplace_back(TestRequestOptions{.id = std::ssize(requests),
                                                   .rows = uniform(1, 9),
                                                   .width = uniform(1, 3)});
      if (uniform(1, 3) == 1) {
        request.request().deadline =
            stepped.clock().Now() + Duration(uniform(1'000'000, 20'000'000));
      }
      request.completion().on_respond = [&] {
        if (request.code() == StatusCode::kOk) {
          EXPECT_TRUE(request.HasOwnRows());
          served.push_back(request.id());
        }
      };
      stepped.clock().Advance(Duration(uniform(1, 1'000'000)));
      accepted += stepped.TrySubmit(request).ok() ? 1 : 0;
    } else if (dice == 5 && !requests.empty()) {
      stepped.Cancel(requests[static_cast<size_t>(
          uniform(0, static_cast<int32_t>(requests.size()) - 1))]);
    } else if (dice <= 8 && stepped.instances().running_count() > 0) {
      const Outcome outcome = {
          uniform(1, 10) == 1 ? StatusCode::kInternal : StatusCode::kOk, ""};
      stepped.instances().Advance(
          static_cast<size_t>(uniform(
              0,
              static_cast<int32_t>(stepped.instances().running_count()) - 1)),
          outcome);
    } else {
      stepped.Step();
    }
  }
  stepped.scheduler().BeginDrain();
  while (!stepped.scheduler().IsIdle()) {
    stepped.Settle();
  }
  EXPECT_TRUE(std::is_sorted(served.begin(), served.end()));
  int answered = 0;
  for (const TestRequest& request : requests) {
    answered += request.completion().respond_count();
    EXPECT_LE(request.completion().respond_count(), 1);
  }
  EXPECT_EQ(answered, accepted);
}

TEST(SchedulerOrder, WhatIsServedIsAnsweredInOrderOfArrival) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    PlayInOrder(seed);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

TEST(SchedulerEnough, WindowClosesAtEnoughRowsAndTakesAllThereAre) {
  SteppedScheduler stepped({.scheduler = {.max_batch_size = 8,
                                          .policy = PolicyKind::kWindow,
                                          .enough_rows = 4}});
  TestRequest three({.id = 1, .rows = 3});
  TestRequest two({.id = 2, .rows = 2});
  stepped.Submit(three);
  EXPECT_EQ(stepped.Step().wake_at_rows, 4);
  EXPECT_EQ(stepped.instances().running_count(), 0u);
  stepped.Submit(two);
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(stepped.instances().batch(0).rows(), 5);
  stepped.Settle();
}

}  // namespace
}  // namespace ferry
