// Tests targets in this process, under real loads of moments.
#include "bench/local/local_targets.h"

#include <gtest/gtest.h>

#include "bench/arrivals/renewal_arrivals.h"
#include "bench/load/load_generator.h"

namespace ferry::bench {
namespace {

LoadPlan Plan(double ms) {
  LoadPlan plan;
  plan.measured = Milliseconds(ms);
  return plan;
}

class LocalTargetsTest : public ::testing::Test {
 protected:
  static std::unique_ptr<SimulatedTarget> Make(
      const SimulatedTargetOptions& options) {
    auto target = SimulatedTarget::Create(options);
    EXPECT_TRUE(target.ok()) << target.status();
    return *std::move(target);
  }

  SteadyPacer pacer_;
};

TEST_F(LocalTargetsTest, NullTargetEndsEachCallOnce) {
  NullTarget target;
  LoadGenerator generator(target, pacer_);
  const auto closed = generator.RunClosed(8, Plan(100));
  EXPECT_GT(closed->ok(), 100U);
  EXPECT_EQ(closed->planned, closed->ok());
  ConstantArrivals arrivals(10'000);
  const auto open = generator.RunOpen(arrivals, Plan(100));
  EXPECT_EQ(open->planned, open->ok());
  EXPECT_NEAR(static_cast<double>(open->planned), 1000, 2);
}

TEST_F(LocalTargetsTest, BatcherAnswersInBatches) {
  SimulatedTargetOptions options;
  options.device.alpha = Milliseconds(2);
  const auto target = Make(options);
  LoadGenerator generator(*target, pacer_);
  const auto result = generator.RunClosed(16, Plan(200));
  EXPECT_GT(result->ok(), 16U);
  EXPECT_EQ(result->planned, result->ok());
  const BatchStatistics served = target->scheduler().Snapshot().served;
  EXPECT_EQ(served.ok_requests(), result->planned);
  EXPECT_LT(served.compute.count(), result->planned / 2) << "batches";
  const BatcherCounters counters(target->scheduler());
  EXPECT_EQ(counters.Read().rows, result->planned);
  EXPECT_EQ(counters.Read().executions, served.compute.count());
}

TEST_F(LocalTargetsTest, RefusedCallsEndWithTheirCode) {
  SimulatedTargetOptions options;
  options.device.alpha = Milliseconds(50);
  options.scheduler.max_batch_size = 1;
  options.scheduler.queue.requests = 2;
  const auto target = Make(options);
  LoadGenerator generator(*target, pacer_);
  ConstantArrivals arrivals(1000);
  const auto result = generator.RunOpen(arrivals, Plan(100));
  EXPECT_GT(result->ended[8], 50U) << "RESOURCE_EXHAUSTED";
  EXPECT_EQ(result->ok() + result->ended[8], result->planned);
}

TEST_F(LocalTargetsTest, CancelEndsWhatIsQueued) {
  SimulatedTargetOptions options;
  options.device.alpha = Milliseconds(300);
  options.scheduler.max_batch_size = 1;
  const auto target = Make(options);
  LoadGenerator generator(*target, pacer_);
  LoadPlan plan = Plan(10);
  plan.drain_limit = Milliseconds(10);
  const auto result = generator.RunClosed(20, plan);
  EXPECT_GE(result->unanswered, 18U);
}

}  // namespace
}  // namespace ferry::bench
