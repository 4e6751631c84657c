// Tests that SimulatedModel takes its time, and fails and throws on demand.
#include "batcher/sim/simulated_model.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/test_request.h"

namespace ferry {
namespace {

// Runs batches of one row; returns what each gave: '.', 'f'ailed, 't'hrew.
std::string RunBatches(SimulatedModel& model, int count) {
  std::string results;
  for (int i = 0; i < count; ++i) {
    TestRequest request;
    Batch batch(1, 1);
    batch.Add(request.request());
    OutputRef output;
    EXPECT_TRUE(model.Gather(batch).ok());
    try {
      results += model.Compute(batch, output).ok() ? '.' : 'f';
    } catch (const std::runtime_error&) {
      results += 't';
    }
  }
  return results;
}

// Runs one batch of one request; returns how long it computed.
Duration Compute(SimulatedModel& model, TestRequest& request,
                 OutputRef& output) {
  Batch batch(1, 4);
  batch.Add(request.request());
  EXPECT_TRUE(model.Gather(batch).ok());
  const TimePoint begin = Clock::Steady().Now();
  EXPECT_TRUE(model.Compute(batch, output).ok());
  return Clock::Steady().Now() - begin;
}

TEST(SimulatedModel, FailsAndThrowsOnTheBatchesAskedFor) {
  auto model = SimulatedModel::Create(RowSpec(), {.alpha = Duration(0),
                                                  .beta = Duration(0),
                                                  .fail_every = 3,
                                                  .throw_every = 4});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(RunBatches(**model, 12), "..ft.f.tf..t");
}

TEST(SimulatedModelDeathTest, AbortsOnTheBatchAskedFor) {
  auto model = SimulatedModel::Create(
      RowSpec(), {.alpha = Duration(0), .beta = Duration(0), .abort_every = 3});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(RunBatches(**model, 2), "..");
  EXPECT_DEATH(RunBatches(**model, 1), "");
}

TEST(SimulatedModel, ComputeTakesItsServiceTimeAndGivesTheRows) {
  auto model = SimulatedModel::Create(
      RowSpec(), {.alpha = Milliseconds(1), .beta = Milliseconds(0.5)});
  ASSERT_TRUE(model.ok());
  TestRequest request({.id = 3, .rows = 4});
  OutputRef output;
  EXPECT_GE(Compute(**model, request, output), Milliseconds(3));
  ASSERT_TRUE(output);
  EXPECT_EQ(reinterpret_cast<const int64_t*>(output->tensors()[0].data)[3],
            3003);
}

TEST(SimulatedModel, RowsThatPadABucketTakeTime) {
  auto model = SimulatedModel::Create(RowSpec(), {.alpha = Milliseconds(1),
                                                  .beta = Milliseconds(0.5),
                                                  .buckets = {8, 64}});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model)->warm_up_samples().front().rows, 1);
  EXPECT_EQ((*model)->warm_up_samples().front().took, Milliseconds(5));
  TestRequest request({.id = 3, .rows = 1});
  OutputRef output;
  EXPECT_GE(Compute(**model, request, output), Milliseconds(5));
}

TEST(SimulatedModel, OptionsOutOfRangeAreRefused) {
  const SimulatedModelOptions kCases[] = {
      {.alpha = Duration(-1)},
      {.beta = Duration(-1)},
      {.jitter = -0.1},
      {.jitter = 1},
      {.jitter = std::numeric_limits<double>::quiet_NaN()},
  };
  for (const SimulatedModelOptions& options : kCases) {
    EXPECT_EQ(SimulatedModel::Create(RowSpec(), options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(SimulatedModel::Create(ModelSpec{}, {}).ok());
}

}  // namespace
}  // namespace ferry
