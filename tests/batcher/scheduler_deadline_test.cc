// Tests that requests that would miss their deadline are refused at admission
// or dropped when their batch closes, and probed where nothing is known. All on
// a fake clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Duration kMargin = BatchPlanner::kMargin;

// A device with s(b) = 1 ms + 0.5 ms * b, at most 8 rows: 5 ms.
class SchedulerDeadlineTest : public ::testing::Test {
 protected:
  static Duration ServiceTime(int32_t rows) {
    return Milliseconds(1) + rows * Milliseconds(0.5);
  }

  SchedulerDeadlineTest() {
    for (int i = 0; i < 60; ++i) {  // learns it
      EXPECT_TRUE(Submit({.rows = 1 + i % 8}).ok());
      Serve();
    }
    requests_.clear();
  }

  absl::Status Submit(TestRequestOptions options) {
    options.id = std::ssize(requests_);
    requests_.emplace_back(options);
    return stepped_.TrySubmit(requests_.back());
  }

  // Starts a batch if none runs, and lets the oldest one take its time.
  void Serve() {
    stepped_.Step();
    ASSERT_GE(stepped_.instances().running_count(), 1u);
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(ServiceTime(stepped_.instances().batch(0).rows()));
    stepped_.instances().Complete(0);
    stepped_.Step();
  }

  TimePoint In(Duration time) const { return stepped_.clock().Now() + time; }
  uint64_t Refused(Refusal reason) {
    return stepped_.scheduler().Snapshot().refused[static_cast<size_t>(reason)];
  }
  uint64_t Dropped() {
    return stepped_.scheduler().Snapshot().served.dropped_requests.value();
  }

  SteppedScheduler stepped_{{.scheduler = {.max_batch_size = 8}}};
  std::deque<TestRequest> requests_;
};

TEST_F(SchedulerDeadlineTest, WhatAnIdleInstanceCannotDoInTimeIsRefused) {
  const Duration needed = ServiceTime(1) + kMargin;
  const absl::Status status =
      Submit({.deadline = In(needed - Milliseconds(0.1))});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              ContainsRegex("need longer than the request's deadline: about "
                            "[0-9.]+ ms, it has [0-9]+[.][0-9]{3} ms$"));
  EXPECT_EQ(Refused(Refusal::kWouldMiss), 1u);
  EXPECT_TRUE(Submit({.deadline = In(needed + Milliseconds(0.1))}).ok());
  Serve();
  EXPECT_TRUE(requests_[1].HasOwnRows());
}

TEST_F(SchedulerDeadlineTest, RefusedOnesAreToldTheTimesToTheMicrosecond) {
  for (int i = 0; i < 3'000; ++i) {  // 5 ms each
    ASSERT_TRUE(Submit({.rows = 8}).ok());
  }
  const Duration has = Milliseconds(10'123.456);
  const absl::Status by_deadline = Submit({.deadline = In(has)});
  const absl::Status by_timeout = Submit({.timeout = has});
  const std::string times =
      "deadline: about 1[0-9]{4}[.][0-9]{3} ms, it has 10123[.]456 ms";
  EXPECT_THAT(std::string(by_deadline.message()), ContainsRegex(times + "$"));
  EXPECT_THAT(
      std::string(by_timeout.message()),
      ContainsRegex(times + " .parameter 'timeout' is in microseconds.$"));
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, TimesThatVaryDoNotRefuseEverything) {
  SteppedScheduler varying({.scheduler = {.max_batch_size = 8}});
  std::deque<TestRequest> requests;
  const auto submit = [&](Duration timeout) {
    requests.emplace_back(
        TestRequestOptions{.id = std::ssize(requests), .timeout = timeout});
    return varying.TrySubmit(requests.back());
  };
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(submit(Duration(0)).ok());
    varying.Step();
    varying.instances().Stage(0);
    varying.clock().Advance(Milliseconds(i % 2 == 0 ? 2 : 38));
    varying.instances().Complete(0);
    varying.Step();
  }
  // Three deviations of 18 ms more than 20 ms is what few batches pass.
  EXPECT_TRUE(submit(Milliseconds(40)).ok()) << "the instance idles";
  varying.Settle();
  EXPECT_FALSE(submit(Milliseconds(15)).ok()) << "less than is expected";
}

TEST_F(SchedulerDeadlineTest, QueueTooLongForTheDeadlineIsRefused) {
  ASSERT_TRUE(Submit({.rows = 8}).ok());
  stepped_.Step();  // runs for 5 ms
  ASSERT_TRUE(Submit({.rows = 8}).ok());
  ASSERT_TRUE(Submit({.rows = 8}).ok());
  EXPECT_EQ(Submit({.deadline = In(Milliseconds(19))}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Submit({.deadline = In(Milliseconds(21))}).ok());
  EXPECT_TRUE(Submit({}).ok()) << "no other request waits";
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, TimeoutParameterIsADeadline) {
  EXPECT_EQ(Submit({.timeout = Milliseconds(1)}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Submit({.timeout = Milliseconds(10)}).ok());
  EXPECT_EQ(requests_[1].request().due, In(Milliseconds(10)));
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, LateRequestsAreDroppedWhenTheirBatchCloses) {
  ASSERT_TRUE(Submit({.rows = 8}).ok());
  stepped_.Step();
  ASSERT_TRUE(Submit({.rows = 3, .deadline = In(Milliseconds(12))}).ok());
  ASSERT_TRUE(Submit({.rows = 3}).ok());
  stepped_.clock().Advance(Milliseconds(9));  // 4 ms more than expected
  stepped_.instances().CompleteAll();
  stepped_.Step();
  EXPECT_EQ(requests_[1].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_STREQ(requests_[1].completion().outcome().text,
               "request would have passed its deadline before it was answered");
  EXPECT_EQ(Dropped(), 1u);
  ASSERT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_EQ(stepped_.instances().batch(0).rows(), 3) << "the rest goes on";
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, BatchOfLateRequestsOnlyIsNotStarted) {
  ASSERT_TRUE(Submit({.rows = 8}).ok());
  stepped_.Step();
  ASSERT_TRUE(Submit({.deadline = In(Milliseconds(10))}).ok());
  stepped_.clock().Advance(Milliseconds(9.5));
  stepped_.instances().CompleteAll();
  const Wait wait = stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 0u);
  EXPECT_EQ(requests_[1].completion().respond_count(), 1);
  EXPECT_EQ(wait.wake_at_rows, 1);
  EXPECT_EQ(stepped_.instances().pull_at(), kNever);
}

TEST_F(SchedulerDeadlineTest, UrgentRequestIsNotDroppedForLessUrgentCompany) {
  SteppedScheduler stepped(
      {.scheduler = {.max_batch_size = 8, .levels = {{}, {}}}});
  std::deque<TestRequest> requests;
  const auto submit = [&](TestRequestOptions options) {
    options.id = std::ssize(requests);
    requests.emplace_back(options);
    stepped.Submit(requests.back());
  };
  const auto serve = [&] {
    stepped.Step();
    stepped.instances().Stage(0);
    stepped.clock().Advance(ServiceTime(stepped.instances().batch(0).rows()));
    stepped.instances().Complete(0);
    stepped.Step();
  };
  for (int i = 0; i < 60; ++i) {
    submit({.rows = 1 + i % 8});
    serve();
  }
  for (int i = 0; i < 7; ++i) {
    submit({.level = 1});
  }
  submit({.deadline = stepped.clock().Now() + Milliseconds(3.1), .level = 0});
  stepped.Step();
  ASSERT_EQ(stepped.instances().running_count(), 1u);
  EXPECT_EQ(IdOf(*stepped.instances().batch(0).entries()[0].request), 67);
  EXPECT_EQ(stepped.instances().batch(0).rows(), 3) << "s(3) and 0.5 ms";
  stepped.Settle();
  EXPECT_TRUE(requests[67].HasOwnRows());
}

TEST_F(SchedulerDeadlineTest, BatchThatEndedEarlyDoesNotCloseTheDoor) {
  ASSERT_TRUE(Submit({.rows = 8}).ok());
  stepped_.Step();  // expected to take 5 ms
  stepped_.instances().Stage(0);
  stepped_.instances().EndCompute(0, {absl::StatusCode::kInternal, "failed"});
  EXPECT_TRUE(Submit({.deadline = In(Milliseconds(3))}).ok())
      << "the instance is idle";
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, WhatWasNotTriedLatelyIsTried) {
  for (int i = 0; i < 100; ++i) {  // a while in which the device is slow
    EXPECT_TRUE(Submit({}).ok());
    stepped_.Step();
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(3 * ServiceTime(1));
    stepped_.instances().Complete(0);
    stepped_.Step();
  }
  requests_.clear();
  const Duration bearable = 2 * ServiceTime(1);
  EXPECT_FALSE(Submit({.deadline = In(bearable)}).ok());
  stepped_.clock().Advance(WaitEstimate::kValid + 25 * ServiceTime(8));
  ASSERT_TRUE(Submit({.deadline = In(bearable)}).ok())
      << "the device may have become faster";
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, WhatNeverRanSoFastIsProbedNowAndThen) {
  stepped_.clock().Advance(Milliseconds(60'000));  // idle
  for (int64_t i = 1; i < WaitEstimate::kProbe; ++i) {
    EXPECT_EQ(Submit({.deadline = In(Milliseconds(1))}).code(),
              absl::StatusCode::kResourceExhausted);
  }
  ASSERT_TRUE(Submit({.deadline = In(Milliseconds(1))}).ok());
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  stepped_.Settle();
}

TEST_F(SchedulerDeadlineTest, ProbeOfSeveralBatchesRunsWhole) {
  stepped_.clock().Advance(Milliseconds(60'000));  // idle
  const auto submit = [&] {
    return Submit({.rows = 12, .deadline = In(Milliseconds(1))});
  };
  for (int64_t i = 1; i < WaitEstimate::kProbe; ++i) {
    EXPECT_FALSE(submit().ok());
  }
  ASSERT_TRUE(submit().ok());
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  stepped_.Settle();
  EXPECT_TRUE(requests_.back().HasOwnRows()) << "both of its parts";
}

// The model may have long rows, which take ten times as long.
TEST_F(SchedulerDeadlineTest, AdmissionKnowsHowLongEachShapeTakes) {
  const auto serve = [&](int64_t width) {
    ASSERT_TRUE(Submit({.width = width}).ok());
    stepped_.Step();
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(ServiceTime(1) * (width > 1 ? 10 : 1));
    stepped_.instances().Complete(0);
    stepped_.Step();
  };
  for (int i = 0; i < 100; ++i) {
    serve(1);
    serve(512);
  }
  const Duration deadline = Milliseconds(4);
  EXPECT_EQ(Submit({.width = 512, .deadline = In(deadline)}).code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(Submit({.deadline = In(deadline)}).ok());
  stepped_.Step();
  ASSERT_EQ(stepped_.instances().running_count(), 1u) << "nor is it dropped";
  stepped_.Settle();
  EXPECT_TRUE(requests_.back().HasOwnRows());
}

// While another shape keeps the server busy.
TEST_F(SchedulerDeadlineTest, AdmissionThatIsTooStrictForAShapeHeals) {
  const auto serve = [&](const TestRequestOptions& options, Duration took) {
    if (!Submit(options).ok()) {
      return false;
    }
    stepped_.Step();
    EXPECT_EQ(stepped_.instances().running_count(), 1u);
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(took);
    stepped_.instances().Complete(0);
    stepped_.Step();
    return true;
  };
  for (int i = 0; i < 100; ++i) {  // the other one is slow for a while
    serve({}, ServiceTime(1));
    serve({.width = 512}, Milliseconds(30));
  }
  int served = 0;
  for (int i = 0; i < 2000; ++i) {
    serve({}, ServiceTime(1));
    stepped_.clock().Advance(Milliseconds(10));
    served +=
        serve({.width = 512, .deadline = In(Milliseconds(15))}, Milliseconds(5))
            ? 1
            : 0;
  }
  EXPECT_GT(served, 1000);
}

TEST(SchedulerDefaultTimeout, IsNamedWhereItRefuses) {
  const LevelOptions hasty = {.default_timeout = Milliseconds(4)};
  SteppedScheduler stepped({.scheduler = {.levels = {{}, hasty}}});
  for (int i = 0; i < 60; ++i) {  // learns that a batch takes 10 ms
    TestRequest request;
    stepped.Submit(request);
    stepped.Step();
    stepped.clock().Advance(Milliseconds(10));
    stepped.instances().CompleteAll();
    stepped.Step();
  }
  const auto refusal = [&](Duration timeout) {
    TestRequest request({.timeout = timeout, .level = 1});
    return std::string(stepped.TrySubmit(request).message());
  };
  const std::string config =
      "default_timeout_microseconds of the model's config";
  EXPECT_THAT(refusal({}), HasSubstr(config));
  EXPECT_THAT(refusal(Milliseconds(5)), HasSubstr(config));
  EXPECT_THAT(refusal(Milliseconds(3)),
              AllOf(HasSubstr("parameter 'timeout'"), Not(HasSubstr(config))));
}

TEST(SchedulerDefaultTimeout, CountsWhereTheRequestHasNoneOrALongerOne) {
  const auto due_after = [](LevelOptions level, Duration timeout) {
    SteppedScheduler stepped({.scheduler = {.levels = {level}}});
    TestRequest request({.timeout = timeout});
    stepped.Submit(request);
    const TimePoint due = request.request().due;
    const Duration after =
        due == kNever ? Duration(0) : due - stepped.clock().Now();
    stepped.Settle();
    return after;
  };
  const Duration kDefault = Milliseconds(10);
  const Duration kShort = Milliseconds(4);
  const Duration kLong = Milliseconds(20);
  EXPECT_EQ(due_after({}, {}), Duration(0));
  EXPECT_EQ(due_after({}, kShort), kShort);
  EXPECT_EQ(due_after({.default_timeout = kDefault}, {}), kDefault);
  EXPECT_EQ(due_after({.default_timeout = kDefault}, kShort), kShort);
  EXPECT_EQ(due_after({.default_timeout = kDefault}, kLong), kDefault);
  EXPECT_EQ(
      due_after({.default_timeout = kDefault, .may_shorten = false}, kShort),
      kDefault);
}

}  // namespace
}  // namespace ferry
