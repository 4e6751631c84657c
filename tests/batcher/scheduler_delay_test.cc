// Tests that a level that delays what waits past its timeout serves it after
// the others of its level. All on a fake clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int64_t>;

const LevelOptions kDelays = {.default_timeout = Milliseconds(10),
                              .delays_late = true};

class SchedulerDelayTest : public ::testing::Test {
 protected:
  explicit SchedulerDelayTest(
      const std::vector<LevelOptions>& levels = {kDelays},
      int32_t max_batch_size = 1)
      : stepped_(
            {.scheduler = {.max_batch_size = max_batch_size, .levels = levels},
             .instances = {.spec = RowSpec(kAnySize)}}) {
    // The first took no time, and is being delivered while the others wait.
    Submit({.id = 0});
    stepped_.Step();
    stepped_.instances().Complete(0);
    stepped_.Step();
    stepped_.instances().set_held(true);
  }

  TestRequest& Submit(const TestRequestOptions& options) {
    requests_.emplace_back(options);
    stepped_.Submit(requests_.back());
    return requests_.back();
  }

  void Advance(double ms) {
    stepped_.clock().Advance(Milliseconds(ms));
    stepped_.Step();
  }

  // The order in which what waits is served.
  Ids ServeAll() {
    Ids ids;
    stepped_.instances().on_start = [&](const Batch& batch) {
      for (const Batch::Entry& entry : batch.entries()) {
        ids.push_back(IdOf(*entry.request));
      }
    };
    stepped_.instances().set_held(false);
    stepped_.Settle();
    stepped_.instances().on_start = nullptr;
    return ids;
  }

  std::deque<TestRequest> requests_;
  SteppedScheduler stepped_;
};

TEST_F(SchedulerDelayTest, LateRequestComesAfterThoseInTime) {
  Submit({.id = 1});
  Advance(5);
  Submit({.id = 2});
  Advance(5);  // 1 is due
  Submit({.id = 3});
  EXPECT_EQ(ServeAll(), (Ids{2, 3, 1}));
  for (const TestRequest& request : requests_) {
    EXPECT_TRUE(request.HasOwnRows());
  }
}

TEST_F(SchedulerDelayTest, DelayedRequestsKeepTheirOrder) {
  Submit({.id = 1});
  Submit({.id = 2});
  Advance(10);
  Submit({.id = 3});
  Advance(10);
  Submit({.id = 4});
  EXPECT_EQ(ServeAll(), (Ids{4, 1, 2, 3}));
}

TEST_F(SchedulerDelayTest, DeadlineStillEndsIt) {
  const TimePoint begin = stepped_.clock().Now();
  TestRequest& waits = Submit({.id = 1, .deadline = begin + Milliseconds(20)});
  Advance(19);
  EXPECT_FALSE(waits.completion().is_answered());
  Advance(1);
  EXPECT_TRUE(waits.completion().is_answered());
  EXPECT_EQ(waits.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ServeAll(), Ids{});
}

TEST_F(SchedulerDelayTest, BothPassedAtOnceEndsIt) {
  const TimePoint begin = stepped_.clock().Now();
  TestRequest& waits = Submit({.id = 1, .deadline = begin + Milliseconds(20)});
  Advance(30);
  EXPECT_EQ(waits.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(SchedulerDelayTest, DelayedRequestCanBeCancelled) {
  Submit({.id = 1});
  Submit({.id = 2});
  Advance(10);
  stepped_.Cancel(requests_[1]);
  Submit({.id = 3});
  EXPECT_EQ(ServeAll(), (Ids{3, 2}));
}

TEST_F(SchedulerDelayTest, ThoseThatAreDueTogetherKeepTheirOrder) {
  for (int64_t id = 1; id <= 6; ++id) {
    Submit({.id = id});
  }
  Advance(10);
  Submit({.id = 7});
  EXPECT_EQ(ServeAll(), (Ids{7, 1, 2, 3, 4, 5, 6}));
}

TEST_F(SchedulerDelayTest, ThoseThatAreDueOutOfOrderKeepThatOfTheirArrival) {
  Submit({.id = 1});
  Submit({.id = 2, .timeout = Milliseconds(1)});
  Advance(1);
  Submit({.id = 3});
  Advance(9);
  EXPECT_EQ(ServeAll(), (Ids{3, 1, 2}));
}

TEST_F(SchedulerDelayTest, OtherShapesInTimeComeFirst) {
  Submit({.id = 1, .width = 2});
  Advance(10);
  Submit({.id = 2, .width = 1});
  EXPECT_EQ(ServeAll(), (Ids{2, 1}));
}

TEST_F(SchedulerDelayTest, PartsOfALargeRequestAreDelayedInOrderAndJoined) {
  TestRequest& large = Submit({.id = 1, .rows = 4});
  Advance(10);
  Submit({.id = 2});
  std::vector<std::pair<int32_t, const std::byte*>> started;
  stepped_.instances().on_start = [&](const Batch& batch) {
    const InferRequest& request = *batch.entries()[0].request;
    started.emplace_back(request.rows, request.inputs[0].segments[0].data);
  };
  stepped_.instances().set_held(false);
  stepped_.Settle();
  stepped_.instances().on_start = nullptr;
  EXPECT_TRUE(large.HasOwnRows());
  ASSERT_EQ(started.size(), 5u);
  EXPECT_EQ(started[0].second,
            requests_[2].request().inputs[0].segments[0].data)
      << "the one in time";
  EXPECT_EQ(started[1].second, large.request().inputs[0].segments[0].data)
      << "then the first part";
}

// Several rows to a batch, so that some are delayed while it is put together.
class SchedulerDelayBatchTest : public SchedulerDelayTest {
 protected:
  SchedulerDelayBatchTest() : SchedulerDelayTest({kDelays}, 3) {}
};

TEST_F(SchedulerDelayBatchTest, WhoWouldBeLateInItIsDelayedAsItCloses) {
  // Learned: a batch takes 4 ms, and the margin.
  stepped_.instances().set_held(false);
  for (int i = 0; i < 3; ++i) {
    Submit({.id = 100 + i});
    stepped_.Step();
    stepped_.clock().Advance(Milliseconds(4));
    stepped_.instances().Complete(0);
    stepped_.Step();
  }
  stepped_.instances().set_held(true);
  Submit({.id = 1});
  Advance(8);
  Submit({.id = 2});
  Submit({.id = 3});
  Submit({.id = 4});
  EXPECT_EQ(ServeAll(), (Ids{2, 3, 4, 1})) << "1 would be answered at 12 of 10";
}

TEST_F(SchedulerDelayBatchTest, LoneRequestOfItsGroupIsDelayedAndServed) {
  Submit({.id = 1, .width = 2});
  Advance(10);
  EXPECT_EQ(ServeAll(), Ids{1});
}

class SchedulerDelayLevelsTest : public SchedulerDelayTest {
 protected:
  SchedulerDelayLevelsTest() : SchedulerDelayTest({kDelays, kDelays}) {}
};

TEST_F(SchedulerDelayLevelsTest, DelayedOneStillComesBeforeLessUrgentOnes) {
  Submit({.id = 1, .level = 1});
  Submit({.id = 2, .level = 0});
  Advance(10);
  Submit({.id = 3, .level = 1});
  Submit({.id = 4, .level = 0});
  EXPECT_EQ(ServeAll(), (Ids{4, 2, 3, 1}));
}

// One row a batch, which is known to take so long.
SteppedSchedulerOptions Taking(Duration took) {
  SteppedSchedulerOptions options;
  options.scheduler.max_batch_size = 1;
  options.scheduler.levels = {kDelays};
  options.instances.warm_up_samples.assign(20, {.rows = 1, .took = took});
  return options;
}

// The queue is longer than the timeout.
TEST(SchedulerDelay, TimeoutRefusesNobodyAtTheDoorAndDropsNobody) {
  SteppedScheduler stepped(Taking(Milliseconds(8)));
  std::deque<TestRequest> requests;
  for (int64_t id = 0; id < 4; ++id) {
    requests.emplace_back(TestRequestOptions{.id = id});
    stepped.Submit(requests.back());
    stepped.Step();
  }
  TestRequest bounded(
      {.id = 4, .deadline = stepped.clock().Now() + Milliseconds(15)});
  EXPECT_EQ(stepped.TrySubmit(bounded).code(),
            absl::StatusCode::kResourceExhausted);
  for (int i = 0; i < 4; ++i) {
    stepped.clock().Advance(Milliseconds(8));
    stepped.instances().CompleteAll();
    stepped.Step();
  }
  for (const TestRequest& request : requests) {
    EXPECT_TRUE(request.HasOwnRows());
  }
}

// A newcomer is answered 8.5 ms from now, or 24.5 if it came behind the four
// that are delayed.
TEST(SchedulerDelay, DoorKnowsWhomANewcomerOvertakes) {
  SteppedScheduler stepped(Taking(Milliseconds(4)));
  std::deque<TestRequest> requests;
  const auto submit = [&](const TestRequestOptions& request) {
    return stepped.TrySubmit(requests.emplace_back(request));
  };
  for (int64_t id = 0; id < 6; ++id) {
    EXPECT_TRUE(submit({.id = id}).ok());
    stepped.Step();
  }
  stepped.clock().Advance(Milliseconds(4));
  stepped.instances().Stage(0);
  stepped.instances().EndCompute(0);
  stepped.clock().Advance(Milliseconds(6));
  stepped.instances().CompleteAll();
  stepped.Step();  // starts one more
  const TimePoint now = stepped.clock().Now();
  EXPECT_TRUE(submit({.id = 6, .deadline = now + Milliseconds(19)}).ok());
  EXPECT_EQ(submit({.id = 7, .deadline = now + Milliseconds(3)}).code(),
            absl::StatusCode::kResourceExhausted);
  const absl::Status late = submit({.id = 8,
                                    .deadline = now + Milliseconds(19),
                                    .timeout = Milliseconds(3)});
  EXPECT_EQ(late.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(late.message()), HasSubstr("about 12."))
      << "behind those in time, and not behind the delayed ones";
  stepped.Settle();
}

TEST(SchedulerDelay, OrderIsNotPreservedWithIt) {
  FakeClock clock;
  SchedulerOptions options = {.preserve_ordering = true, .levels = {kDelays}};
  options.clock = &clock;
  const auto scheduler = Scheduler::Create(PulledInstances(), options);
  EXPECT_EQ(scheduler.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ferry
