// Tests that Batch keeps rows in order, answers each request once, and counts.
#include "batcher/batch.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tensor/host_output_pool.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_request.h"

namespace ferry {
namespace {

constexpr Outcome kFailed = {absl::StatusCode::kInternal, "device failed"};

// Stamps, as Scheduler::Submit() does, and adds.
void Add(Batch& batch, TestRequest& request, const Clock& clock) {
  request.request().arrival = clock.Now();
  batch.Add(request.request());
}

TEST(Batch, RequestsGetConsecutiveRows) {
  Batch batch(3, 8);
  TestRequest requests[] = {TestRequest({.rows = 2}), TestRequest({.rows = 1}),
                            TestRequest({.rows = 3})};
  for (TestRequest& request : requests) {
    batch.Add(request.request());
  }
  EXPECT_EQ(batch.rows(), 6);
  EXPECT_EQ(batch.bytes(), 6 * sizeof(int64_t));
  ASSERT_EQ(batch.entries().size(), 3u);
  EXPECT_EQ(batch.entries()[0].first_row, 0);
  EXPECT_EQ(batch.entries()[1].first_row, 2);
  EXPECT_EQ(batch.entries()[2].first_row, 3);
  EXPECT_EQ(batch.row_dims(0)[0], 1);
}

TEST(Batch, FailureReachesEveryRequestAndIsCounted) {
  FakeClock clock;
  Batch batch(2, 8);
  TestRequest first;
  TestRequest second;
  Add(batch, first, clock);
  Add(batch, second, clock);
  clock.Advance(Milliseconds(1));
  batch.Close(clock.Now(), CloseReason::kFull, 0);
  batch.SetResult(kFailed, OutputRef());
  clock.Advance(Milliseconds(2));
  batch.Deliver(clock);
  for (TestRequest* request : {&first, &second}) {
    EXPECT_EQ(request->code(), absl::StatusCode::kInternal);
    EXPECT_STREQ(request->completion().outcome().text, "device failed");
    EXPECT_TRUE(request->completion().is_answered());
  }
  const BatchStatistics& counts = batch.statistics();
  EXPECT_EQ(counts.failed_requests[static_cast<size_t>(kFailed.code)].value(),
            2u);
  EXPECT_EQ(counts.failed_ns.value(), 2u * 3'000'000);
  EXPECT_EQ(counts.ok_requests(), 0u);
  EXPECT_EQ(counts.compute.count(), 0u);
}

TEST(Batch, ResultThatWasNeverSetIsAnError) {
  FakeClock clock;
  Batch batch(1, 1);
  TestRequest request;
  Add(batch, request, clock);
  batch.Close(clock.Now(), CloseReason::kFull, 0);
  batch.Deliver(clock);
  EXPECT_EQ(request.code(), absl::StatusCode::kInternal);
}

TEST(Batch, SuccessGivesEachRequestItsRowsAndCountsItsTimes) {
  FakeClock clock;
  Batch batch(2, 8);
  TestRequest first({.rows = 2});
  TestRequest second({.rows = 1});
  Add(batch, first, clock);
  clock.Advance(Milliseconds(1));
  Add(batch, second, clock);
  clock.Advance(Milliseconds(1));
  batch.Close(clock.Now(), CloseReason::kMaxWait, 0);
  clock.Advance(Milliseconds(3));
  const TimePoint compute_begin = clock.Now();
  clock.Advance(Milliseconds(10));
  batch.set_times({.compute_begin = compute_begin, .compute_end = clock.Now()});
  HostOutputPool pool(1, 1);
  const OutputRef output = pool.Take();
  batch.SetResult({}, output);
  clock.Advance(Milliseconds(5));
  uint64_t rows_at_first_reply = 0;
  first.completion().on_respond = [&] {
    rows_at_first_reply = batch.statistics().ok_rows.value();
  };
  batch.Deliver(clock);
  EXPECT_EQ(rows_at_first_reply, 3u) << "the batch counts whole";

  EXPECT_EQ(first.completion().first_row(), 0);
  EXPECT_EQ(first.completion().rows(), 2);
  EXPECT_EQ(second.completion().first_row(), 2);
  EXPECT_EQ(second.completion().rows(), 1);
  EXPECT_EQ(first.completion().output().get(), output.get());
  EXPECT_EQ(first.completion().compute(), Milliseconds(10) * 2 / 3);
  EXPECT_EQ(second.completion().compute(), Milliseconds(10) / 3);

  const BatchStatistics& counts = batch.statistics();
  EXPECT_EQ(counts.ok_requests(), 2u);
  EXPECT_EQ(counts.ok_rows.value(), 3u);
  EXPECT_EQ(counts.queue_wait.sum(), 3'000'000u);
  EXPECT_EQ(counts.stage.sum(), 3'000'000u);
  EXPECT_EQ(counts.compute.sum(), 10'000'000u);
  EXPECT_EQ(counts.deliver.sum(), 2u * 5'000'000);
  EXPECT_EQ(counts.request_time.sum(), 20'000'000u + 19'000'000u);
  EXPECT_EQ(counts.stage_ns_of_requests.value(), 2u * 3'000'000);
  EXPECT_EQ(counts.compute_ns_of_requests.value(), 2u * 10'000'000);
  EXPECT_EQ(counts.by_rows[3].batches.value(), 1u);
  EXPECT_EQ(counts.by_rows[3].stage_ns.value(), 3'000'000u);
  EXPECT_EQ(counts.by_rows[3].compute_ns.value(), 10'000'000u);
  EXPECT_EQ(counts.by_rows[3].deliver_ns.value(), 5'000'000u);
  EXPECT_EQ(
      counts.closed_batches[static_cast<size_t>(CloseReason::kMaxWait)].value(),
      1u);
}

TEST(Batch, ClearedBatchStartsAnewAndKeepsItsCounts) {
  FakeClock clock;
  Batch batch(1, 4);
  for (int round = 1; round <= 3; ++round) {
    TestRequest request({.rows = 2});
    Add(batch, request, clock);
    EXPECT_EQ(batch.rows(), 2);
    batch.Close(clock.Now(), CloseReason::kFull, 0);
    batch.SetResult(kFailed, OutputRef());
    batch.Deliver(clock);
    batch.Clear();
    EXPECT_EQ(batch.rows(), 0);
    EXPECT_EQ(batch.bytes(), 0u);
    EXPECT_TRUE(batch.entries().empty());
    EXPECT_EQ(batch.statistics()
                  .closed_batches[static_cast<size_t>(CloseReason::kFull)]
                  .value(),
              static_cast<uint64_t>(round));
  }
}

TEST(BatchDeathTest, BrokenUseIsABug) {
  FakeClock clock;
  Batch batch(1, 4);
  EXPECT_DEATH(batch.Close(clock.Now(), CloseReason::kFull, 0),
               "a closed batch holds requests");
  TestRequest first;
  TestRequest second;
  batch.Add(first.request());
  EXPECT_DEATH(batch.Add(second.request()), "the batch has room");
  EXPECT_DEATH(batch.SetResult({}, OutputRef()), "a batch has outputs");
}

}  // namespace
}  // namespace ferry
