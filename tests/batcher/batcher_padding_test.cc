// What of the work was padding, as the batcher counts it: rows that fill a
// bucket, and zeros that fill a row.
#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>

#include "tests/support/stepped_batcher.h"

namespace ferry {
namespace {

struct Padding {
  uint64_t rows;
  uint64_t input_elements;
  uint64_t padding_elements;

  bool operator==(const Padding&) const = default;
};

class BatcherPaddingTest : public ::testing::Test {
 protected:
  static SteppedBatcherOptions Options() {
    SteppedBatcherOptions options;
    options.batcher.max_batch_size = 8;
    return options;
  }

  // Serves these in one batch, whose outcome that is; larger ones in parts.
  static void Serve(SteppedBatcher& stepped,
                    std::initializer_list<TestRequestOptions> all,
                    Outcome outcome = {}) {
    std::deque<TestRequest> requests;
    for (const TestRequestOptions& options : all) {
      stepped.Submit(requests.emplace_back(options));
    }
    stepped.Step();
    while (stepped.backend().running_count() > 0) {
      stepped.clock().Advance(Milliseconds(1));
      stepped.backend().Complete(0, outcome);
      stepped.Step();
    }
    for (const TestRequest& request : requests) {
      EXPECT_EQ(request.code(), outcome.code);
    }
  }

  static Padding Counted(SteppedBatcher& stepped) {
    const BatcherStatistics counts = stepped.batcher().Snapshot();
    return {.rows = counts.padding_rows,
            .input_elements = counts.served.input_elements.value(),
            .padding_elements = counts.served.padding_elements.value()};
  }
};

TEST_F(BatcherPaddingTest, RowsThatFillABucketAreCounted) {
  SteppedBatcherOptions options = Options();
  options.batcher.buckets = {4, 8};
  SteppedBatcher stepped(options);
  Serve(stepped, {{.rows = 3}});
  EXPECT_EQ(Counted(stepped), (Padding{1, 0, 0}));
  Serve(stepped, {{.rows = 3}, {.rows = 2}});
  EXPECT_EQ(Counted(stepped), (Padding{1 + 3, 0, 0}));
  Serve(stepped, {{.rows = 4}});
  Serve(stepped, {{.rows = 8}});
  EXPECT_EQ(Counted(stepped), (Padding{1 + 3, 0, 0})) << "whole buckets";
}

TEST_F(BatcherPaddingTest, WithoutBucketsNoRowIsPadding) {
  SteppedBatcher stepped(Options());
  Serve(stepped, {{.rows = 3, .width = 5}});
  EXPECT_EQ(Counted(stepped), (Padding{0, 0, 0}));
}

TEST_F(BatcherPaddingTest, ZerosThatFillRowsAreCounted) {
  SteppedBatcher stepped(Options());
  Serve(stepped, {{.rows = 2, .width = 3, .padded_width = 16},
                  {.rows = 1, .width = 16, .padded_width = 16}});
  EXPECT_EQ(Counted(stepped), (Padding{0, 6 + 16, 2 * 13}));
  Serve(stepped, {{.rows = 1, .width = 20, .padded_width = 20}});
  EXPECT_EQ(Counted(stepped), (Padding{0, 22 + 20, 26})) << "past the sizes";
}

TEST_F(BatcherPaddingTest, RowsThatFillABucketHaveNoElements) {
  SteppedBatcherOptions options = Options();
  options.batcher.buckets = {4, 8};
  SteppedBatcher stepped(options);
  Serve(stepped, {{.rows = 1, .width = 3, .padded_width = 16}});
  EXPECT_EQ(Counted(stepped), (Padding{3, 3, 13}));
}

TEST_F(BatcherPaddingTest, PartsOfARequestCountTheirOwn) {
  SteppedBatcherOptions options = Options();
  options.batcher.buckets = {4, 8};
  SteppedBatcher stepped(options);
  Serve(stepped, {{.rows = 18, .width = 3, .padded_width = 4}});
  EXPECT_EQ(Counted(stepped), (Padding{2, 18 * 3, 18}));
}

TEST_F(BatcherPaddingTest, BatchThatFailedIsNotCounted) {
  SteppedBatcherOptions options = Options();
  options.batcher.buckets = {4, 8};
  SteppedBatcher stepped(options);
  Serve(stepped, {{.rows = 1, .width = 3, .padded_width = 16}},
        {absl::StatusCode::kInternal, "device failed"});
  EXPECT_EQ(Counted(stepped), (Padding{0, 0, 0}));
}

}  // namespace
}  // namespace ferry
