// Tests that in TorchDeviceModel's warm-up on a lazy device each batch has
// ended, on all streams, before the next begins and before its result is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/models/torch/device/scripted_device_model.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DeviceWarmUpTest : public DeviceModelTest {
 protected:
  int Waiting(DeviceStream stream) const {
    return runtime_.state.waiting[static_cast<size_t>(stream)];
  }
};

// Libraries try their ways while a model warms up, and in no batch.
TEST_F(DeviceWarmUpTest, LibrariesTryTheirWaysInWarmUpAlone) {
  std::vector<int> seen;
  const auto model = Make([&](const Values& inputs) {
    seen.push_back(runtime_.warm_ups);
    return Doubled(inputs);
  });
  ASSERT_TRUE(model->WarmUp().ok());
  EXPECT_THAT(seen, AllOf(Not(IsEmpty()), Each(1)));
  seen.clear();
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  EXPECT_THAT(seen, Each(0));
  EXPECT_EQ(runtime_.warm_ups, 0);
}

// Else the time of a batch would have in it what other models compute. What
// warms up may take long, and keeps none waiting.
TEST_F(DeviceWarmUpTest, ComputesInTurnsOnceItServes) {
  const auto model = Make(Doubled);
  ASSERT_TRUE(model->WarmUp().ok());
  EXPECT_EQ(runtime_.state.turns, 0);
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  for (int batches = 1; batches <= 3; ++batches) {
    ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
    EXPECT_EQ(runtime_.state.turns, batches);
  }
  EXPECT_THAT(runtime_.faults(), IsEmpty());  // no mark was in no turn
}

// Else what the next one takes is not its own time, and what is cut on the host
// is cut of what is not there yet.
TEST_F(DeviceWarmUpTest, EachBatchIsCopiedOutBeforeTheNextIsComputed) {
  int forwards = 0;
  const auto model = Make([&](const Values& inputs) {
    ++forwards;
    EXPECT_EQ(Waiting(DeviceStream::kCopyOut), 0) << "forward " << forwards;
    return Doubled(inputs);
  });
  ASSERT_TRUE(model->WarmUp().ok());
  EXPECT_GT(forwards, 1);
  EXPECT_THAT(runtime_.state.waiting, Each(0));
}

// It has started casts by then, and nothing else waits for them.
TEST_F(DeviceWarmUpTest, BatchWhoseForwardThrowsHasEndedWhenThatIsTold) {
  const auto model =
      Make([](const Values&) -> at::Tensor { throw std::runtime_error("no"); });
  EXPECT_THAT(std::string(model->WarmUp().message()), HasSubstr("no"));
  EXPECT_THAT(runtime_.state.waiting, Each(0));
}

class DeviceWarmUpErrorTest
    : public DeviceWarmUpTest,
      public ::testing::WithParamInterface<DeviceStream> {};

// It starts without an error: only waiting for it tells of one.
TEST_P(DeviceWarmUpErrorTest, WhatFailsOnTheDeviceFailsTheLoad) {
  const auto model = Make(Doubled);
  runtime_.state.failing = GetParam();
  const absl::Status status = model->WarmUp();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("an error of the device"));
}

INSTANTIATE_TEST_SUITE_P(Streams, DeviceWarmUpErrorTest,
                         ::testing::Values(DeviceStream::kCopyIn,
                                           DeviceStream::kCompute,
                                           DeviceStream::kCopyOut));

}  // namespace
}  // namespace ferry
