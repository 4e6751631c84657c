// Tests that the scheduler counts what of the work was padding: rows that fill
// a bucket, and zeros that fill a row.
#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>

#include "tests/support/stepped_scheduler.h"

namespace ferry {
namespace {

struct Padding {
  uint64_t rows;
  uint64_t input_elements;
  uint64_t padding_elements;

  bool operator==(const Padding&) const = default;
};

class SchedulerPaddingTest : public ::testing::Test {
 protected:
  static SteppedSchedulerOptions Options() {
    SteppedSchedulerOptions options;
    options.scheduler.max_batch_size = 8;
    return options;
  }

  // Serves these in one batch, whose outcome that is; larger ones in parts.
  static void Serve(SteppedScheduler& stepped,
                    std::initializer_list<TestRequestOptions> all,
                    Outcome outcome = {}) {
    std::deque<TestRequest> requests;
    for (const TestRequestOptions& options : all) {
      stepped.Submit(requests.emplace_back(options));
    }
    stepped.Step();
    while (stepped.instances().running_count() > 0) {
      stepped.clock().Advance(Milliseconds(1));
      stepped.instances().Complete(0, outcome);
      stepped.Step();
    }
    for (const TestRequest& request : requests) {
      EXPECT_EQ(request.code(), outcome.code);
    }
  }

  static Padding Counted(SteppedScheduler& stepped) {
    const SchedulerStatistics counts = stepped.scheduler().Snapshot();
    return {.rows = counts.padding_rows,
            .input_elements = counts.served.input_elements.value(),
            .padding_elements = counts.served.padding_elements.value()};
  }
};

TEST_F(SchedulerPaddingTest, RowsThatFillABucketAreCounted) {
  SteppedSchedulerOptions options = Options();
  options.scheduler.buckets = {4, 8};
  SteppedScheduler stepped(options);
  Serve(stepped, {{.rows = 3}});
  EXPECT_EQ(Counted(stepped), (Padding{1, 0, 0}));
  Serve(stepped, {{.rows = 3}, {.rows = 2}});
  EXPECT_EQ(Counted(stepped), (Padding{1 + 3, 0, 0}));
  Serve(stepped, {{.rows = 4}});
  Serve(stepped, {{.rows = 8}});
  EXPECT_EQ(Counted(stepped), (Padding{1 + 3, 0, 0})) << "whole buckets";
}

TEST_F(SchedulerPaddingTest, WithoutBucketsNoRowIsPadding) {
  SteppedScheduler stepped(Options());
  Serve(stepped, {{.rows = 3, .width = 5}});
  EXPECT_EQ(Counted(stepped), (Padding{0, 0, 0}));
}

TEST_F(SchedulerPaddingTest, ZerosThatFillRowsAreCounted) {
  SteppedScheduler stepped(Options());
  Serve(stepped, {{.rows = 2, .width = 3, .padded_width = 16},
                  {.rows = 1, .width = 16, .padded_width = 16}});
  EXPECT_EQ(Counted(stepped), (Padding{0, 6 + 16, 2 * 13}));
  Serve(stepped, {{.rows = 1, .width = 20, .padded_width = 20}});
  EXPECT_EQ(Counted(stepped), (Padding{0, 22 + 20, 26})) << "past the sizes";
}

TEST_F(SchedulerPaddingTest, RowsThatFillABucketHaveNoElements) {
  SteppedSchedulerOptions options = Options();
  options.scheduler.buckets = {4, 8};
  SteppedScheduler stepped(options);
  Serve(stepped, {{.rows = 1, .width = 3, .padded_width = 16}});
  EXPECT_EQ(Counted(stepped), (Padding{3, 3, 13}));
}

TEST_F(SchedulerPaddingTest, PartsOfARequestCountTheirOwn) {
  SteppedSchedulerOptions options = Options();
  options.scheduler.buckets = {4, 8};
  SteppedScheduler stepped(options);
  Serve(stepped, {{.rows = 18, .width = 3, .padded_width = 4}});
  EXPECT_EQ(Counted(stepped), (Padding{2, 18 * 3, 18}));
}

TEST_F(SchedulerPaddingTest, BatchThatFailedIsNotCounted) {
  SteppedSchedulerOptions options = Options();
  options.scheduler.buckets = {4, 8};
  SteppedScheduler stepped(options);
  Serve(stepped, {{.rows = 1, .width = 3, .padded_width = 16}},
        {absl::StatusCode::kInternal, "device failed"});
  EXPECT_EQ(Counted(stepped), (Padding{0, 0, 0}));
}

}  // namespace
}  // namespace ferry
