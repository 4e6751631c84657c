// Tests that a sum of statistics loses nothing, and that reasons have names.
#include "batcher/statistics.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ferry {
namespace {

TEST(Statistics, MergeAddsEveryCount) {
  BatchStatistics part(2);
  part.ok_rows.Set(2);
  part.input_elements.Set(17);
  part.padding_elements.Set(18);
  part.failed_requests[4].Set(3);
  part.failed_ns.Set(4);
  part.closed_batches[1].Set(5);
  part.queue_wait.Record(6);
  part.deliver.Record(7);
  part.request_time.Record(8);
  part.stage.Record(9);
  part.compute.Record(10);
  part.stage_ns_of_requests.Set(11);
  part.compute_ns_of_requests.Set(12);
  part.by_rows[2].batches.Set(13);
  part.by_rows[2].stage_ns.Set(14);
  part.by_rows[2].compute_ns.Set(15);
  part.by_rows[2].deliver_ns.Set(16);
  BatchStatistics sum(2);
  part.MergeInto(sum);
  part.MergeInto(sum);
  EXPECT_EQ(sum.ok_requests(), 2u);
  EXPECT_EQ(sum.ok_rows.value(), 4u);
  EXPECT_EQ(sum.input_elements.value(), 34u);
  EXPECT_EQ(sum.padding_elements.value(), 36u);
  EXPECT_EQ(sum.failed_requests[4].value(), 6u);
  EXPECT_EQ(sum.failed_ns.value(), 8u);
  EXPECT_EQ(sum.closed_batches[1].value(), 10u);
  EXPECT_EQ(sum.queue_wait.sum(), 12u);
  EXPECT_EQ(sum.deliver.sum(), 14u);
  EXPECT_EQ(sum.request_time.sum(), 16u);
  EXPECT_EQ(sum.stage.sum(), 18u);
  EXPECT_EQ(sum.compute.sum(), 20u);
  EXPECT_EQ(sum.stage_ns_of_requests.value(), 22u);
  EXPECT_EQ(sum.compute_ns_of_requests.value(), 24u);
  EXPECT_EQ(sum.by_rows[2].batches.value(), 26u);
  EXPECT_EQ(sum.by_rows[2].stage_ns.value(), 28u);
  EXPECT_EQ(sum.by_rows[2].compute_ns.value(), 30u);
  EXPECT_EQ(sum.by_rows[2].deliver_ns.value(), 32u);
}

TEST(Statistics, PaddingRowsAreThoseBetweenBatchesAndTheirBuckets) {
  BatchStatistics served(8);
  served.by_rows[2].batches.Set(1);
  served.by_rows[3].batches.Set(10);
  served.by_rows[4].batches.Set(100);
  served.by_rows[5].batches.Set(1000);
  EXPECT_EQ(PaddingRows(served.by_rows, {4, 8}), 2u + 10u + 3000u);
  EXPECT_EQ(PaddingRows(served.by_rows, {}), 0u);
}

TEST(Statistics, ReasonsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (size_t i = 0; i < kRefusalCount; ++i) {
    names.insert(RefusalName(static_cast<Refusal>(i)));
  }
  EXPECT_EQ(names.size(), kRefusalCount);
  names.clear();
  for (size_t i = 0; i < kCloseReasonCount; ++i) {
    names.insert(CloseReasonName(static_cast<CloseReason>(i)));
  }
  EXPECT_EQ(names.size(), kCloseReasonCount);
  EXPECT_STREQ(RefusalName(Refusal::kBroken), "broken");
  EXPECT_STREQ(CloseReasonName(CloseReason::kDrain), "drain");
}

}  // namespace
}  // namespace ferry
