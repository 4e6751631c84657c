// Tests two joined halves of a load against one generator that measured it all.
#include "bench/load/load_merge.h"

#include <gtest/gtest.h>

#include "bench/arrivals/arrival_shape.h"
#include "bench/arrivals/sharded_arrivals.h"
#include "bench/load/batch_means.h"
#include "bench/load/histogram_record.h"
#include "bench/load/load_generator.h"
#include "bench/processes/sharded_target.h"
#include "tests/bench/simulated_time.h"

namespace ferry::bench {
namespace {

// Has two classes, one of which fails now and then; its latency is that of the
// moment, so that it makes no difference which sender sends what.
class TwoClasses final : public Target {
 public:
  explicit TwoClasses(SimulatedTime& time) : time_(time) {}

  void Send(uint64_t number, Caller& caller) override {
    const TimePoint now = time_.Now();
    time_.At(now + Duration(1'000'000 + ToNanos(now) % 3'000'000),
             [number, &caller] {
               caller.Ended(number % 50 == 0 ? absl::StatusCode::kUnavailable
                                             : absl::StatusCode::kOk);
             });
  }
  size_t class_count() const override { return 2; }
  size_t ClassOf(uint64_t number) const override { return number % 3 == 0; }
  void CancelAll() override {}

 private:
  SimulatedTime& time_;
};

// What one of `count` generators measures of 500/s.
std::unique_ptr<LoadResult> Measure(int32_t index, int32_t count) {
  SimulatedTime time;
  TwoClasses target(time);
  ShardedTarget sharded(
      target, {static_cast<uint64_t>(index), static_cast<uint64_t>(count)});
  LoadGenerator generator(sharded, time);
  LoadPlan plan;
  plan.start = time.Now() + Milliseconds(10);
  plan.warm_up = Milliseconds(100);
  plan.measured = Milliseconds(10'000);
  plan.slices = 20;
  plan.keeps_stamps = true;
  plan.keeps_start = true;
  ShardedArrivals arrivals(PoissonShape().make(500, 3), index, count);
  return generator.RunOpen(arrivals, plan);
}

void ExpectSame(const LatencyHistogram& one, const LatencyHistogram& other) {
  EXPECT_EQ(RecordOf(one), RecordOf(other));
}

TEST(MergeTest, SharesOfALoadAreTheLoadThatOneWouldHaveMeasured) {
  const std::unique_ptr<LoadResult> whole = Measure(0, 1);
  ASSERT_GT(whole->planned, 4000u);
  ASSERT_GT(whole->failed(), 0u);
  std::unique_ptr<LoadResult> joined = Measure(0, 3);
  Merge(*Measure(1, 3), *joined);
  Merge(*Measure(2, 3), *joined);
  ExpectSame(joined->latency, whole->latency);
  ExpectSame(joined->latency_from_send, whole->latency_from_send);
  ExpectSame(joined->failed_latency, whole->failed_latency);
  ExpectSame(joined->send_lag, whole->send_lag);
  EXPECT_EQ(joined->ended, whole->ended);
  EXPECT_EQ(joined->planned, whole->planned);
  EXPECT_EQ(joined->ok_in_window, whole->ok_in_window);
  EXPECT_EQ(joined->offered_rate(), whole->offered_rate());
  for (size_t i = 0; i < whole->slices.size(); ++i) {
    ExpectSame(joined->slices[i].latency, whole->slices[i].latency);
    EXPECT_EQ(joined->slices[i].planned, whole->slices[i].planned);
    EXPECT_EQ(joined->slices[i].failed, whole->slices[i].failed);
  }
  for (size_t i = 0; i < whole->classes.size(); ++i) {
    ExpectSame(joined->classes[i].latency, whole->classes[i].latency);
    EXPECT_EQ(joined->classes[i].ended, whole->classes[i].ended);
  }
  ASSERT_TRUE(MeanInterval(*whole).has_value());
  EXPECT_EQ(MeanInterval(*joined)->low_us, MeanInterval(*whole)->low_us);
  EXPECT_EQ(Unsteadiness(*joined), Unsteadiness(*whole));
}

TEST(MergeTest, StampsAreInTheOrderInWhichTheyEnded) {
  const std::unique_ptr<LoadResult> whole = Measure(0, 1);
  std::unique_ptr<LoadResult> joined = Measure(1, 2);
  Merge(*Measure(0, 2), *joined);
  ASSERT_EQ(joined->stamps.size(), whole->stamps.size());
  for (size_t i = 0; i < whole->stamps.size(); ++i) {
    ASSERT_EQ(joined->stamps[i].ended, whole->stamps[i].ended) << i;
    ASSERT_EQ(joined->stamps[i].of_class, whole->stamps[i].of_class) << i;
  }
}

TEST(MergeTest, WhatVoidsOneVoidsTheWhole) {
  std::unique_ptr<LoadResult> load = Measure(0, 2);
  const std::unique_ptr<LoadResult> other = Measure(1, 2);
  other->held_back = 1;
  other->interrupted = true;
  EXPECT_EQ(VoidReason(*load), "");
  Merge(*other, *load);
  EXPECT_NE(VoidReason(*load), "");
  EXPECT_TRUE(load->interrupted);
}

}  // namespace
}  // namespace ferry::bench
