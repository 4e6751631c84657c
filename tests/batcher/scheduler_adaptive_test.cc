// Tests that Scheduler under `adaptive` learns and then waits as it should. All
// on a fake clock.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

constexpr int32_t kMaxRows = 32;
const Duration kMaxWait = Milliseconds(5);

// A device with s(b) = 1 ms + 0.1 ms * b, and requests of one row.
class SchedulerAdaptiveTest : public ::testing::Test {
 protected:
  void Arrive(TimePoint deadline = kNever, int64_t width = 1) {
    requests_.push_back(std::make_unique<TestRequest>(
        TestRequestOptions{.id = static_cast<int64_t>(requests_.size()),
                           .width = width,
                           .deadline = deadline}));
    stepped_.Submit(*requests_.back());
  }

  // Lets the running batch take its time and come back.
  void Serve() {
    const int32_t rows = stepped_.instances().batch(0).rows();
    stepped_.instances().Stage(0);
    stepped_.clock().Advance(Milliseconds(1) + Milliseconds(0.1) * rows);
    stepped_.instances().Complete(0);
    stepped_.Step();
  }

  // Requests every `gap`, each batch served as soon as it is started.
  void Load(int count, Duration gap) {
    for (int i = 0; i < count; ++i) {
      Arrive();
      stepped_.Step();
      if (stepped_.instances().running_count() > 0) {
        Serve();
      }
      stepped_.clock().Advance(gap);
    }
    stepped_.clock().Advance(kMaxWait);
    stepped_.Step();
    while (stepped_.instances().running_count() > 0) {
      Serve();
    }
  }

  uint64_t Closed(CloseReason reason) {
    return stepped_.scheduler()
        .Snapshot()
        .served.closed_batches[static_cast<size_t>(reason)]
        .value();
  }

  SteppedScheduler stepped_{{.scheduler = {.max_batch_size = kMaxRows,
                                           .policy = PolicyKind::kAdaptive,
                                           .max_wait = kMaxWait}}};
  std::vector<std::unique_ptr<TestRequest>> requests_;
};

TEST_F(SchedulerAdaptiveTest, LoneRequestLeavesAtOnce) {
  Arrive();
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  Serve();
  stepped_.clock().Advance(Milliseconds(10'000));
  Arrive();
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u) << "knows s(b), no load";
  Serve();
}

TEST_F(SchedulerAdaptiveTest, LearnsServiceTimesFromBatchesThatRan) {
  for (int32_t rows : {1, 32, 8, 16, 1, 32, 8, 16, 1, 32}) {
    for (int32_t i = 0; i < rows; ++i) {
      Arrive();
    }
    stepped_.clock().Advance(kMaxWait);
    stepped_.Step();
    Serve();
    stepped_.clock().Advance(Milliseconds(10'000));
  }
  const ServiceTimeLine line = stepped_.scheduler().Snapshot().service_time;
  EXPECT_NEAR(line.alpha_ns, 1e6, 1e5);
  EXPECT_NEAR(line.beta_ns, 1e5, 1e4);
}

TEST_F(SchedulerAdaptiveTest, UnderLoadABatchWaitsForItsTarget) {
  Load(2000, Milliseconds(0.2));
  EXPECT_GT(Closed(CloseReason::kTarget), 50u);
  const uint64_t batches =
      static_cast<uint64_t>(stepped_.instances().started_count());
  EXPECT_LT(batches, 2000 / 2) << "it waited for company";
  for (const auto& request : requests_) {
    EXPECT_TRUE(request->HasOwnRows()) << request->id();
  }
}

TEST_F(SchedulerAdaptiveTest, NobodyWaitsLongerThanMaxWait) {
  Load(2000, Milliseconds(0.2));
  Arrive();
  const Wait wait = stepped_.Step();
  ASSERT_EQ(stepped_.instances().running_count(), 0u) << "waits for company";
  EXPECT_EQ(wait.until, requests_.back()->request().arrival + kMaxWait);
  EXPECT_GT(wait.wake_at_rows, 1);
  stepped_.clock().Advance(kMaxWait);
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_EQ(Closed(CloseReason::kMaxWait) > 0, true);
  Serve();
}

TEST_F(SchedulerAdaptiveTest, DeadlineThatPressesClosesTheBatch) {
  Load(2000, Milliseconds(0.2));
  const TimePoint now = stepped_.clock().Now();
  Arrive(now + Milliseconds(4));
  const Wait wait = stepped_.Step();
  ASSERT_EQ(stepped_.instances().running_count(), 0u);
  // s(2) is 1.2 ms; with what the device may take longer and the margin.
  EXPECT_LT(wait.until, now + Milliseconds(4) - Milliseconds(1.2));
  EXPECT_GT(wait.until, now);
  stepped_.clock().Advance(wait.until - now);
  stepped_.Step();
  EXPECT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_EQ(Closed(CloseReason::kDeadline), 1u);
  Serve();
  EXPECT_TRUE(requests_.back()->HasOwnRows());
}

// The one that is due last takes the longest, and so has to start first.
TEST_F(SchedulerAdaptiveTest, EachShapeLeavesInTimeForItsOwnDeadlines) {
  Load(2000, Milliseconds(0.2));
  const TimePoint now = stepped_.clock().Now();
  Arrive(now + Milliseconds(4), /*width=*/1);
  for (int i = 0; i < 2; ++i) {
    Arrive(now + Milliseconds(4.05), /*width=*/2);
  }
  const Wait wait = stepped_.Step();
  ASSERT_EQ(stepped_.instances().running_count(), 0u) << "waits for company";
  stepped_.clock().Advance(wait.until - now);
  stepped_.Step();
  ASSERT_EQ(stepped_.instances().running_count(), 1u);
  EXPECT_EQ(stepped_.instances().batch(0).rows(), 2);
  Serve();
  EXPECT_TRUE(requests_.back()->HasOwnRows());
}

TEST_F(SchedulerAdaptiveTest, WakingALittleLateIsInTimeForWhoPresses) {
  Load(2000, Milliseconds(0.2));
  const TimePoint now = stepped_.clock().Now();
  Arrive(now + Milliseconds(4));
  const Wait wait = stepped_.Step();
  stepped_.clock().Advance(wait.until - now + Milliseconds(0.2));
  stepped_.Step();
  ASSERT_EQ(stepped_.instances().running_count(), 1u) << "not dropped as late";
  Serve();
  EXPECT_TRUE(requests_.back()->HasOwnRows());
}

}  // namespace
}  // namespace ferry
