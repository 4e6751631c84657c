// Tests TorchDeviceModel where memory ends, forwards fail, or the device is
// lost: what fails, and that what it had started is waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/type_failures.h"
#include "tests/models/torch/device/scripted_device_model.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class DeviceFailuresTest : public DeviceModelTest {};

// A device with memory for so many rows.
ScriptedNetwork::Script MemoryFor(int64_t rows) {
  return [rows](const Values& inputs) {
    TORCH_CHECK_WITH(OutOfMemoryError, inputs[0].toTensor().size(0) <= rows,
                     "no memory");
    return inputs[0].toTensor() * 2;
  };
}

TEST_F(DeviceFailuresTest, WithoutMemoryABatchIsComputedInHalvesFromThenOn) {
  options_.buckets = {1, 2, 4, 8};
  const auto model = Make(MemoryFor(4));
  TestRows seven(7, {2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  for (int i = 0; i < 2; ++i) {
    OutputRef output;
    ASSERT_TRUE(Play(*model, *BatchOf({&seven}), output).ok());
    EXPECT_THAT(
        Values32(output, 7),
        ElementsAreArray({0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26}));
  }
  EXPECT_EQ(Count(*model, "out_of_memory"), 1);
  EXPECT_EQ(runtime_.times_freed, 1);
}

// To free it may wait for a recording; other models compute meanwhile.
TEST_F(DeviceFailuresTest, MemoryIsFreedBetweenTwoTurns) {
  bool is_short = false;
  const auto model = Make([&](const Values& inputs) {
    TORCH_CHECK_WITH(OutOfMemoryError,
                     !is_short || inputs[0].toTensor().size(0) <= 4, "no");
    return Doubled(inputs);
  });
  ASSERT_TRUE(model->WarmUp().ok());
  is_short = true;
  const int freed = runtime_.times_freed;
  const int turns = runtime_.state.turns;
  TestRows eight(8, {2}, std::vector<float>(16, 1));
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&eight}), output).ok());
  EXPECT_THAT(Values32(output, 8), Each(2));
  EXPECT_EQ(runtime_.times_freed, freed + 1);
  EXPECT_EQ(runtime_.state.turns, turns + 2);
}

TEST_F(DeviceFailuresTest, PiecesThatRanAreNotRunAgain) {
  options_.use_graphs = false;  // to record is to run
  std::vector<int64_t> sizes;
  size_t fails_at = 1;  // the run
  const auto model = Make([&](const Values& inputs) {
    sizes.push_back(inputs[0].toTensor().size(0));
    TORCH_CHECK_WITH(OutOfMemoryError, sizes.size() != fails_at, "no");
    return Doubled(inputs);
  });
  TestRows eight(8, {2}, std::vector<float>(16, 1));
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&eight}), output).ok());
  EXPECT_THAT(sizes, ElementsAre(8, 4, 4));
  sizes.clear();
  fails_at = 2;
  ASSERT_TRUE(Play(*model, *BatchOf({&eight}), output).ok());
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2, 2));
  EXPECT_THAT(Values32(output, 8), Each(2));
}

// A half would give other answers.
TEST_F(DeviceFailuresTest, RowsThatDependOnEachOtherAreNotHalved) {
  halves_ = Halves::kNone;
  const auto model = Make(MemoryFor(4));
  TestRows eight(8, {2}, std::vector<float>(16, 1));
  OutputRef output;
  EXPECT_EQ(Play(*model, *BatchOf({&eight}), output).outcome.code,
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(runtime_.times_freed, 1);
}

// TorchScript and AOTInductor say it so: by no more than a text.
TEST_F(DeviceFailuresTest, ItIsSeenWhoeverSaysThatThereIsNoMemory) {
  const auto model = Make([&](const Values& inputs) {
    if (inputs[0].toTensor().size(0) > 4) {
      runtime_.is_out_of_memory = true;
      throw std::runtime_error("CUDA out of memory");
    }
    return Doubled(inputs);
  });
  TestRows eight(8, {2}, std::vector<float>(16, 1));
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&eight}), output).ok());
  EXPECT_THAT(Values32(output, 8), Each(2));
}

TEST_F(DeviceFailuresTest, NoBatchIsHalvedInVain) {
  options_.buckets = {4, 8};
  const auto model = Make(MemoryFor(2));
  TestRows three(3, {2}, std::vector<float>(6, 1));
  OutputRef output;
  EXPECT_EQ(Play(*model, *BatchOf({&three}), output).outcome.code,
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(runtime_.times_freed, 1);
}

TEST_F(DeviceFailuresTest, WithoutMemoryForHalfABatchItFailsAndTheNextRuns) {
  const auto model = Make(MemoryFor(1));
  TestRows eight(8, {2}, std::vector<float>(16, 1));
  OutputRef output;
  const DeviceOutcome outcome = Play(*model, *BatchOf({&eight}), output);
  EXPECT_EQ(outcome.outcome.code, absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(outcome.is_lost);
  TestRows one(1, {2}, {1, 2});
  ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  EXPECT_THAT(Values32(output, 1), ElementsAre(2, 4));
}

TEST_F(DeviceFailuresTest, ABatchThatThrowsFailsAndTheNextRuns) {
  bool throws = true;
  const auto model = Make([&](const Values& inputs) {
    if (std::exchange(throws, false)) {
      throw std::runtime_error("no");
    }
    return Doubled(inputs);
  });
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  const DeviceOutcome outcome = Play(*model, *BatchOf({&one}), output);
  EXPECT_EQ(outcome.outcome.code, absl::StatusCode::kInternal);
  EXPECT_FALSE(outcome.is_lost);
  ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  EXPECT_THAT(Values32(output, 1), ElementsAre(2, 4));
}

TEST_F(DeviceFailuresTest, RowsThatFailByTheirTypesAreKept) {
  options_.type_failures = std::make_shared<TypeFailures>();
  std::string why = "index out of range in self";
  const auto model =
      Make([&](const Values&) -> at::Tensor { throw std::runtime_error(why); });
  TestRows two(2, {2}, {1, 2, 3, 4});
  OutputRef output;
  EXPECT_FALSE(Play(*model, *BatchOf({&two}), output).ok());
  EXPECT_FALSE(options_.type_failures->Take().has_value());
  why = "mat1 and mat2 must have the same dtype";
  EXPECT_FALSE(Play(*model, *BatchOf({&two}), output).ok());
  const auto failure = options_.type_failures->Take();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->why, why);
  EXPECT_EQ(failure->batch->batch().rows(), 2);
}

TEST_F(DeviceFailuresTest, WarmUpRunsTheRowsThatMustRun) {
  TestRows two(2, {2}, {1, 200, 3, 4});
  options_.must_run = std::make_shared<const KeptBatch>(*BatchOf({&two}));
  bool is_good = false;
  const auto model = Make([&](const Values& inputs) {
    if (inputs[0].toTensor().max().item<float>() == 200) {
      TORCH_CHECK(is_good, "not so large");
    }
    return Doubled(inputs);
  });
  const absl::Status status = model->WarmUp();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rows of a batch that failed in bf16"),
                    HasSubstr("not so large")));
  is_good = true;
  EXPECT_TRUE(model->WarmUp().ok());
}

// Nothing else waits for what a batch that fails has started until then. This
// one fails on its way in, with one input copied.
class DeviceModelWithoutMemoryTest : public DeviceFailuresTest {
 protected:
  DeviceModelWithoutMemoryTest() {
    options_.spec.inputs.push_back({"z", DataType::kFp32, {kAnySize}});
    one_.request.inputs = views_;
    model_ = Make(Doubled);
    runtime_.memory->left = 0;
    EXPECT_EQ(model_->CopyIn(0, *BatchOf({&one_})).outcome.code,
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Count(*model_, "out_of_memory"), 1);
    runtime_.memory->left = ShortMemory::kNoEnd;
  }

  TestRows one_{1, {2}, {1, 2}};
  TestRows other_{1, {3}, {5, 6, 7}};
  const std::array<TensorView, 2> views_ = {one_.view, other_.view};
  std::unique_ptr<TorchDeviceModel> model_;
};

TEST_F(DeviceModelWithoutMemoryTest, TheNextWaitsForTheCopy) {
  one_.values = {3, 4};
  OutputRef output;
  ASSERT_TRUE(Play(*model_, *BatchOf({&one_}), output).ok());
  EXPECT_THAT(Values32(output, 1), ElementsAre(6, 8));
  model_.reset();
}

TEST_F(DeviceModelWithoutMemoryTest, TheEndWaitsForTheCopy) { model_.reset(); }

TEST_F(DeviceFailuresTest,
       AfterABatchThatFailsInAPieceTheNextWaitsForTheOthers) {
  options_.buckets = {1, 2, 4};
  bool throws = false;
  const auto model = Make([&](const Values& inputs) {
    TORCH_CHECK_WITH(OutOfMemoryError, inputs[0].toTensor().size(0) < 4, "no");
    TORCH_CHECK(!throws || inputs[0].toTensor()[0][0].item<float>() < 5, "no");
    return Doubled(inputs);
  });
  TestRows four(4, {2}, {1, 2, 3, 4, 5, 6, 7, 8});
  OutputRef output;
  throws = true;
  EXPECT_FALSE(Play(*model, *BatchOf({&four}), output).ok());
  throws = false;
  ASSERT_TRUE(Play(*model, *BatchOf({&four}), output).ok());
  EXPECT_THAT(Values32(output, 4), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
}

TEST_F(DeviceFailuresTest, AfterABatchThatFailsOnItsWayOutTheNextIsWhole) {
  options_.spec.outputs.push_back({"z", DataType::kFp32, {2}});
  const auto model = Make(Doubled);
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  runtime_.memory->left = 1;  // for the first output
  EXPECT_FALSE(Play(*model, *BatchOf({&one}), output).ok());
  runtime_.memory->left = ShortMemory::kNoEnd;
  ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  EXPECT_THAT(Values32(output, 1), ElementsAre(2, 4));
}

// Its caller does not say what it has to wait for.
TEST_F(DeviceFailuresTest, ABatchWaitsForAllThatItsPlaceHasUnderWay) {
  const auto model = Make(Doubled);
  TestRows one(1, {2}, {1, 2});
  TestRows two(1, {2}, {3, 4});
  OutputRef first;
  OutputRef second;
  const auto batch = BatchOf({&one});
  ASSERT_TRUE(model->CopyIn(0, *batch).ok());
  ASSERT_TRUE(model->Compute(0, *batch, first).ok());
  ASSERT_TRUE(Play(*model, *BatchOf({&two}), second).ok());
  EXPECT_THAT(Values32(first, 1), ElementsAre(2, 4));
  EXPECT_THAT(Values32(second, 1), ElementsAre(6, 8));
}

TEST_F(DeviceFailuresTest, ALostDeviceIsTold) {
  const auto model = Make([&](const Values&) -> at::Tensor {
    runtime_.is_lost = true;
    throw std::runtime_error("an illegal memory access was encountered");
  });
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  EXPECT_TRUE(Play(*model, *BatchOf({&one}), output).is_lost);
}

// Where sizes are unknown, what throws may be their fault; not so here.
TEST_F(DeviceFailuresTest, ADeviceThatIsLostInWarmUpIsTold) {
  options_.spec.inputs[0].dims = {kAnySize};
  options_.spec.outputs[0].dims = {kAnySize};
  const auto model = Make([&](const Values& /*inputs*/) -> at::Tensor {
    runtime_.is_lost = true;
    throw std::runtime_error("device-side assert");
  });
  const absl::Status status = model->WarmUp();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("the device is lost"));
  EXPECT_THAT(status.message(), HasSubstr("device-side assert"));
}

TEST_F(DeviceFailuresTest, AnOutputThatDoesNotFitFailsItsBatch) {
  const auto model = Make([](const Values& inputs) {
    return inputs[0].toTensor().narrow(1, 0, 1);
  });
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  EXPECT_EQ(Play(*model, *BatchOf({&one}), output).outcome.code,
            absl::StatusCode::kInternal);
}

TEST_F(DeviceFailuresTest, FewerOutputsThanTheSpecHasFailTheBatchAndTheLoad) {
  options_.spec.outputs.push_back({"z", DataType::kFp32, {2}});
  const auto model = std::make_unique<TorchDeviceModel>(
      std::make_unique<ScriptedNetwork>(Doubled, /*outputs=*/1), options_,
      runtime_, Halves::kAllowed);
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  EXPECT_EQ(Play(*model, *BatchOf({&one}), output).outcome.code,
            absl::StatusCode::kInternal);
  const absl::Status status = model->WarmUp();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("outputs: the config has 2, the model gives 1"));
}

}  // namespace
}  // namespace ferry
