// Tests TorchDeviceModel on a lazy device: values, types, padding, warm-up.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

#include "models/torch/device/torch_device_model.h"
#include "tests/models/torch/device/scripted_device_model.h"

namespace ferry {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;

TEST_F(DeviceModelTest, GivesEachRowItsOutput) {
  const auto model = Make(Doubled);
  TestRows one(1, {2}, {1, 2});
  TestRows two(2, {2}, {3, 4, 5, 6});
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&one, &two}), output).ok());
  EXPECT_THAT(Values32(output, 3), ElementsAre(2, 4, 6, 8, 10, 12));
}

// Plays nine batches of one to three rows as a DeviceInstance does: two are
// started ahead of the one that lands.
void PlayInFlight(TorchDeviceModel& model) {
  ASSERT_EQ(model.places(), 3);
  std::vector<std::unique_ptr<TestRows>> rows;
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<OutputRef> outputs(9);
  for (int i = 0; i < 9; ++i) {
    const auto value = static_cast<float>(i);
    rows.push_back(std::make_unique<TestRows>(
        1 + i % 3, std::vector<int64_t>{2},
        std::vector<float>(static_cast<size_t>(2 + 2 * (i % 3)), value)));
    batches.push_back(DeviceModelTest::BatchOf({rows.back().get()}));
  }
  DeviceTimes times;
  for (int32_t i = 0; i < 9; ++i) {
    const auto at = static_cast<size_t>(i);
    if (i >= 2) {
      ASSERT_TRUE(model.AwaitComputed((i - 2) % 3, times).ok());
    }
    ASSERT_TRUE(model.CopyIn(i % 3, *batches[at]).ok());
    // The received bytes are gone.
    std::fill(rows[at]->values.begin(), rows[at]->values.end(), -1.0F);
    ASSERT_TRUE(model.Compute(i % 3, *batches[at], outputs[at]).ok());
    if (i >= 2) {
      ASSERT_TRUE(model.AwaitCopiedOut((i - 2) % 3).ok());
      EXPECT_THAT(DeviceModelTest::Values32(outputs[at - 2], 1 + (i - 2) % 3),
                  Each(static_cast<float>(2 * (i - 2))));
    }
  }
}

TEST_F(DeviceModelTest, BatchesInFlightKeepApart) {
  PlayInFlight(*Make(Doubled));
}

TEST_F(DeviceModelTest, BatchesInFlightOfGraphsKeepApart) {
  options_.buckets = {1, 2, 4, 8};
  const auto model = Make(Doubled);
  ASSERT_TRUE(model->WarmUp().ok());
  PlayInFlight(*model);
  EXPECT_EQ(Count(*model, "graph_launched"), 9);
  EXPECT_EQ(Count(*model, "no_graph"), 0);
}

TEST_F(DeviceModelTest, AModelServesWhileAnotherIsRecorded) {
  options_.buckets = {1, 2, 4, 8};
  const auto serving = Make(Doubled);
  ASSERT_TRUE(serving->WarmUp().ok());
  int forwards = 0;
  bool is_warming_up = true;
  const auto recorded = Make([&](const Values& inputs) {
    if (is_warming_up) {  // later it has the device's turn itself
      ++forwards;
      PlayInFlight(*serving);
    }
    return inputs[0].toTensor() * 3;
  });
  ASSERT_TRUE(recorded->WarmUp().ok());
  is_warming_up = false;
  EXPECT_GT(forwards, 0);
  EXPECT_EQ(Count(*serving, "graph_launched"),
            static_cast<uint64_t>(9 * forwards));
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  ASSERT_TRUE(Play(*recorded, *BatchOf({&one}), output).ok());
  EXPECT_THAT(Values32(output, 1), ElementsAre(3, 6));
}

TEST_F(DeviceModelTest, SaysHowLongTheDeviceWasIdleBetweenTwoBatches) {
  const auto model = Make(Doubled);
  TestRows one(1, {2}, {1, 2});
  OutputRef first, second;
  const auto batch = BatchOf({&one});
  ASSERT_TRUE(Play(*model, *batch, first, 0).ok());
  ASSERT_TRUE(Play(*model, *batch, second, 1).ok());
  EXPECT_EQ(model->IdleBetween(0, 1), std::chrono::microseconds(4));
}

TEST_F(DeviceModelTest, WarmedUpItTakesNoMoreMemoryOfTheHost) {
  const auto model = Make(Doubled);
  ASSERT_TRUE(model->WarmUp().ok());
  const int before = runtime_.memory->left;
  TestRows eight(8, {2}, std::vector<float>(16, 1));
  std::vector<OutputRef> held(HostOutputPool::kMaxShared);
  for (size_t i = 0; i < held.size(); ++i) {
    const auto place = static_cast<int32_t>(i) % model->places();
    ASSERT_TRUE(Play(*model, *BatchOf({&eight}), held[i], place).ok());
  }
  EXPECT_EQ(runtime_.memory->left, before);
  EXPECT_EQ(Count(*model, "staging_grown"), 0);
}

TEST_F(DeviceModelTest, RepliesThatAreHeldForLongTakeMoreAndAreCounted) {
  const auto model = Make(Doubled);
  ASSERT_TRUE(model->WarmUp().ok());
  TestRows one(1, {2}, {1, 2});
  std::vector<OutputRef> held(HostOutputPool::kMaxShared + 2);
  for (OutputRef& output : held) {
    ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  }
  EXPECT_EQ(Count(*model, "staging_grown"), 2);
}

// Each size alone is more than the last one by a number.
TEST_F(DeviceModelTest, SizesThatGrowTakeMemorySeldomAndAreCounted) {
  options_.spec.inputs[0].dims = {kAnySize};
  options_.spec.outputs[0].dims = {kAnySize};
  const auto model = Make(Doubled);
  ASSERT_TRUE(model->WarmUp().ok());
  for (const bool is_again : {false, true}) {
    const uint64_t before = Count(*model, "staging_grown");
    for (int64_t size = 1; size <= 1000; ++size) {
      TestRows row(1, {size}, std::vector<float>(static_cast<size_t>(size), 1));
      OutputRef output;
      ASSERT_TRUE(Play(*model, *BatchOf({&row}), output).ok());
      ASSERT_EQ(Values32(output, 1), std::vector<float>(row.values.size(), 2));
    }
    const uint64_t grown = Count(*model, "staging_grown") - before;
    // Rooms: the wire's and the outputs' on both sides, and the network's; each
    // grows by half, from 1 to 1000 numbers.
    EXPECT_LE(grown, is_again ? 0 : 5 * 20);
    EXPECT_TRUE(is_again || grown > 5) << grown;
  }
}

TEST_F(DeviceModelTest, CastsToThePrecisionAndBack) {
  options_.precision = Precision::kBf16;
  at::ScalarType taken = at::kFloat;
  const auto model = Make([&](const Values& inputs) {
    taken = inputs[0].toTensor().scalar_type();
    return inputs[0].toTensor();
  });
  TestRows one(1, {2}, {1.00390625F, 3});
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  EXPECT_EQ(taken, at::kBFloat16);
  EXPECT_THAT(Values32(output, 1), ElementsAre(1, 3));  // the nearest, even
}

TEST_F(DeviceModelTest, OutputsStandInTheOrderOfTheirShapeHoweverTheyLie) {
  options_.spec.inputs[0].dims = {2, 2, 1};
  options_.spec.outputs[0].dims = {2, 2, 1};
  const auto model = Make([](const Values& inputs) {
    return (inputs[0].toTensor() * 2)
        .contiguous(at::MemoryFormat::ChannelsLast);
  });
  TestRows two(2, {2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&two}), output).ok());
  EXPECT_THAT(Values32(output, 2), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

TEST_F(DeviceModelTest, FillsABucketWithZeros) {
  options_.buckets = {4, 8};
  at::Tensor seen;
  const auto model = Make([&](const Values& inputs) {
    seen = inputs[0].toTensor().clone();
    return seen;
  });
  OutputRef output;
  TestRows full(8, {2}, std::vector<float>(16, 7));
  ASSERT_TRUE(Play(*model, *BatchOf({&full}), output).ok());
  TestRows three(3, {2}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(Play(*model, *BatchOf({&three}), output).ok());
  ASSERT_EQ(seen.size(0), 4);
  EXPECT_TRUE(seen[3].eq(0).all().item<bool>());
  EXPECT_THAT(Values32(output, 3), ElementsAre(1, 2, 3, 4, 5, 6));
}

// Rows of 1 and 3, padded to 4, whose outputs have the sizes that came.
TEST_F(DeviceModelTest, CutsWhatPaddingMadeLonger) {
  options_.spec.inputs[0].dims = {kAnySize};
  options_.spec.inputs[0].pads = {4};
  options_.spec.outputs[0].dims = {kAnySize};
  options_.spec.outputs[0].follows = 0;
  const auto model = Make(Doubled);
  TestRows one(2, {1}, {1, 2});
  TestRows three(1, {3}, {3, 4, 5});
  const std::array<int64_t, 1> padded = {4};
  one.view.padded_dims = padded;
  three.view.padded_dims = padded;
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&one, &three}), output).ok());
  EXPECT_THAT(Values32(output, 3), ElementsAre(2, 4, 6, 8, 10));
}

TEST_F(DeviceModelTest, WarmsUpEachBucket) {
  options_.buckets = {1, 8};
  std::vector<int64_t> sizes;
  const auto model = Make([&](const Values& inputs) {
    sizes.push_back(inputs[0].toTensor().size(0));
    return Doubled(inputs);
  });
  ASSERT_TRUE(model->WarmUp().ok());
  EXPECT_THAT(sizes, Contains(1));
  EXPECT_THAT(sizes, Contains(8));
  ASSERT_EQ(model->warm_up_samples().size(), 2);
  EXPECT_EQ(model->warm_up_samples()[1].rows, 8);
}

TEST_F(DeviceModelTest, WarmUpSaysWhyTheModelCannotServe) {
  const auto model = Make([](const Values&) -> at::Tensor {
    throw std::runtime_error("no kernel image is available");
  });
  EXPECT_THAT(std::string(model->WarmUp().message()),
              ::testing::HasSubstr("no kernel image is available"));
}

}  // namespace
}  // namespace ferry
