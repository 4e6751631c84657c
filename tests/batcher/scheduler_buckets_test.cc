// Tests that where the backend pads batches to buckets, a batch leaves with the
// rows that cost least each.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "batcher/batch_buckets.h"
#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

using Sizes = std::vector<int32_t>;

const Sizes kBuckets = {4, 16, 32};

TEST(PaddedRows, AreTheFirstBucketThatHoldsThem) {
  EXPECT_EQ(PaddedRows(kBuckets, 1), 4);
  EXPECT_EQ(PaddedRows(kBuckets, 4), 4);
  EXPECT_EQ(PaddedRows(kBuckets, 5), 16);
  EXPECT_EQ(PaddedRows(kBuckets, 32), 32);
  EXPECT_EQ(PaddedRows(kBuckets, 33), 33);
  EXPECT_EQ(PaddedRows({}, 7), 7);
}

// s(b) = 1 ms + 0.1 ms a padded row: 1.4, 2.6 and 4.2 ms.
class SchedulerBucketsTest : public ::testing::Test {
 protected:
  static SteppedSchedulerOptions Options(int32_t instances) {
    SteppedSchedulerOptions options;
    options.scheduler.max_batch_size = 32;
    options.scheduler.buckets = kBuckets;
    options.instances.count = instances;
    for (int i = 0; i < 20; ++i) {  // as often as it takes to be known
      for (int32_t rows : kBuckets) {
        options.instances.warm_up_samples.push_back(
            {.rows = rows, .took = Milliseconds(1) + rows * Milliseconds(0.1)});
      }
    }
    return options;
  }

  // Submits requests of those rows while no batch may start, then lets it; the
  // last is due after `due_ms`, if that is not 0. Returns the batches' rows as
  // they run.
  static Sizes Serve(const SteppedSchedulerOptions& options, const Sizes& rows,
                     double due_ms = 0) {
    SteppedScheduler stepped(options);
    std::deque<TestRequest> requests;
    for (int32_t count : rows) {
      const bool is_due = due_ms > 0 && requests.size() + 1 == rows.size();
      requests.emplace_back(TestRequestOptions{
          .id = std::ssize(requests) + 1,
          .rows = count,
          .deadline =
              is_due ? stepped.clock().Now() + Milliseconds(due_ms) : kNever});
      stepped.Submit(requests.back());
    }
    Sizes batches;
    stepped.instances().on_start = [&](const Batch& batch) {
      batches.push_back(batch.rows());
    };
    stepped.Step();
    started_at_once_ = batches.size();
    stepped.Settle();
    for (const TestRequest& request : requests) {
      EXPECT_TRUE(request.HasOwnRows());
    }
    return batches;
  }

  static inline size_t started_at_once_ = 0;
};

const Sizes kFiveOfOne(5, 1);

TEST_F(SchedulerBucketsTest, SmallerBucketIsFilledWhereItsRowsCostLess) {
  EXPECT_EQ(Serve(Options(1), kFiveOfOne), (Sizes{4, 1}));
  EXPECT_EQ(started_at_once_, 1u);
}

TEST_F(SchedulerBucketsTest, BatchIsPaddedWhereThatCostsLess) {
  EXPECT_EQ(Serve(Options(1), Sizes(14, 1)), Sizes{14});
  EXPECT_EQ(Serve(Options(1), {3, 3}), Sizes{6}) << "3 rows pad a bucket too";
}

TEST_F(SchedulerBucketsTest, FullBucketsLeaveWhole) {
  EXPECT_EQ(Serve(Options(1), Sizes(32, 1)), Sizes{32});
  EXPECT_EQ(Serve(Options(1), Sizes(16, 1)), Sizes{16});
}

TEST_F(SchedulerBucketsTest, WhatIsLeftTakesAnotherInstanceAtOnce) {
  EXPECT_EQ(Serve(Options(2), kFiveOfOne), (Sizes{4, 1}));
  EXPECT_EQ(started_at_once_, 2u) << "G3";
}

TEST_F(SchedulerBucketsTest, RequestsAreNotTornApart) {
  EXPECT_EQ(Serve(Options(1), {4, 2}), (Sizes{4, 2}));
  EXPECT_EQ(Serve(Options(1), {2, 3}), Sizes{5});
}

// After the others the last could be answered 1.4 ms, a full batch of 4.2 and
// the margin from now.
TEST_F(SchedulerBucketsTest, WhoCouldBeLateIsNotLeftBehind) {
  EXPECT_EQ(Serve(Options(1), kFiveOfOne, 6.0), Sizes{5});
  EXPECT_EQ(Serve(Options(1), kFiveOfOne, 6.2), (Sizes{4, 1}));
  SteppedSchedulerOptions levels = Options(1);
  levels.scheduler.levels.resize(2);  // a more urgent one may come before it
  EXPECT_EQ(Serve(levels, kFiveOfOne, 100), Sizes{5});
}

TEST_F(SchedulerBucketsTest, LargerSizeIsTriedNowAndThen) {
  SteppedScheduler stepped(Options(1));
  int whole = 0;
  for (int round = 0; round < 64; ++round) {
    std::deque<TestRequest> requests;
    for (int64_t id = 0; id < 5; ++id) {
      requests.emplace_back(TestRequestOptions{.id = id});
      stepped.Submit(requests.back());
    }
    stepped.Step();
    whole += stepped.instances().batch(0).rows() == 5 ? 1 : 0;
    stepped.clock().Advance(Milliseconds(2));
    stepped.Settle();
  }
  EXPECT_EQ(whole, 2);
}

TEST_F(SchedulerBucketsTest, WhatRanTooSeldomIsNotBelieved) {
  SteppedSchedulerOptions options = Options(1);
  options.instances.warm_up_samples.resize(3);
  EXPECT_EQ(Serve(options, kFiveOfOne), Sizes{5});
}

TEST_F(SchedulerBucketsTest, LevelsShareThePartThatLeaves) {
  SteppedSchedulerOptions options = Options(1);
  options.scheduler.levels.resize(2);
  SteppedScheduler stepped(options);
  std::deque<TestRequest> requests;
  for (int64_t id = 0; id < 5; ++id) {
    requests.emplace_back(
        TestRequestOptions{.id = id, .level = id < 2 ? 1 : 0});
    stepped.Submit(requests.back());
  }
  stepped.Step();
  const Batch& batch = stepped.instances().batch(0);
  ASSERT_EQ(batch.entries().size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(IdOf(*batch.entries()[i].request), (Sizes{2, 3, 4, 0}[i]));
  }
  stepped.Settle();
}

TEST_F(SchedulerBucketsTest, WhereNothingIsKnownNothingIsLeftBehind) {
  SteppedSchedulerOptions options = Options(1);
  options.instances.warm_up_samples.clear();
  EXPECT_EQ(Serve(options, kFiveOfOne), Sizes{5});
}

TEST_F(SchedulerBucketsTest, WithoutBucketsEverySizeRuns) {
  SteppedSchedulerOptions options = Options(1);
  options.scheduler.buckets.clear();
  EXPECT_EQ(Serve(options, kFiveOfOne), Sizes{5});
}

TEST_F(SchedulerBucketsTest, ListsThatAreNoBucketsAreRefused) {
  for (const Sizes& wrong :
       {Sizes{4, 16}, Sizes{4, 4, 32}, Sizes{16, 4, 32}, Sizes{0, 32}}) {
    const FakeClock clock;
    SteppedSchedulerOptions options = Options(1);
    options.scheduler.buckets = wrong;
    options.scheduler.clock = &clock;
    const auto scheduler =
        Scheduler::Create(PulledInstances(), options.scheduler);
    EXPECT_EQ(scheduler.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ferry
