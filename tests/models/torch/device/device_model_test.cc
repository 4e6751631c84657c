// DeviceModel on a lazy device (host_runtime.h): values, types, pieces, errors.
#include "models/torch/device/device_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/row_requests.h"
#include "tests/models/torch/device/host_runtime.h"

namespace ferry {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

// A network that is a function of the test.
class ScriptedNetwork final : public Network {
 public:
  using Script = std::function<at::Tensor(const Values&)>;

  // What it gives is each of so many outputs.
  ScriptedNetwork(Script script, size_t outputs)
      : script_(std::move(script)), outputs_(outputs) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    outputs.assign(outputs_, script_(inputs));
    return absl::OkStatus();
  }

 private:
  const Script script_;
  const size_t outputs_;
};

// A request of `rows` rows of one input each.
struct TestRows {
  TestRows(int32_t rows, std::vector<int64_t> row_dims,
           std::vector<float> row_values)
      : dims(std::move(row_dims)), values(std::move(row_values)) {
    run = {reinterpret_cast<const std::byte*>(values.data()),
           values.size() * sizeof(float)};
    view = {.dims = dims, .runs = {&run, 1}};
    request.inputs = {&view, 1};
    request.rows = rows;
  }

  std::vector<int64_t> dims;
  std::vector<float> values;
  ferry::Run run;
  TensorView view;
  InferRequest request;
};

class DeviceModelTest : public ::testing::Test {
 protected:
  DeviceModelTest() {
    options_.name = "m";
    options_.spec = {.inputs = {{"x", DataType::kFp32, {2}}},
                     .outputs = {{"y", DataType::kFp32, {2}}},
                     .max_batch_size = 8};
    options_.precision = Precision::kFp32;
  }

  // Models are gone by then, and what they had started.
  void TearDown() override { EXPECT_THAT(runtime_.faults(), IsEmpty()); }

  std::unique_ptr<DeviceModel> Make(ScriptedNetwork::Script script) {
    return std::make_unique<DeviceModel>(
        std::make_unique<ScriptedNetwork>(std::move(script),
                                          options_.spec.outputs.size()),
        options_, runtime_);
  }

  static std::unique_ptr<Batch> BatchOf(
      const std::vector<TestRows*>& requests) {
    int32_t rows = 0;
    for (TestRows* one : requests) {
      rows += one->request.rows;
    }
    auto batch =
        std::make_unique<Batch>(static_cast<int32_t>(requests.size()), rows);
    for (TestRows* one : requests) {
      batch->Add(one->request);
    }
    batch->Close(TimePoint(), CloseReason::kFull);
    return batch;
  }

  static std::vector<float> Values32(const OutputRef& output, int32_t rows) {
    const ferry::Run all = output->tensors()[0].Rows(0, rows);
    const auto* values = reinterpret_cast<const float*>(all.data);
    return {values, values + all.size / sizeof(float)};
  }

  // All steps of one batch, of one that fails those that StreamPipeline takes.
  DeviceOutcome Play(DeviceModel& model, const Batch& batch, OutputRef& output,
                     int32_t place = 0) {
    DeviceOutcome outcome = model.CopyIn(place, batch);
    if (!outcome.ok()) {
      return outcome;
    }
    outcome = model.Compute(place, batch, output);
    DeviceTimes times;
    if (outcome.ok()) {
      outcome = model.AwaitComputed(place, times);
    }
    const DeviceOutcome copied = model.AwaitCopiedOut(place);
    return outcome.ok() ? copied : outcome;
  }

  static uint64_t Count(const DeviceModel& model, const std::string& event) {
    for (const DeviceCount& one : model.counts()) {
      if (one.event == event) {
        return one.count;
      }
    }
    ADD_FAILURE() << "no count " << event;
    return 0;
  }

  HostRuntime runtime_;
  ModelOptions options_;
};

at::Tensor Doubled(const Values& inputs) { return inputs[0].toTensor() * 2; }

TEST_F(DeviceModelTest, GivesEachRowItsOutput) {
  const auto model = Make(Doubled);
  TestRows one(1, {2}, {1, 2});
  TestRows two(2, {2}, {3, 4, 5, 6});
  OutputRef output;
  ASSERT_TRUE(Play(*model, *BatchOf({&one, &two}), output).ok());
  EXPECT_THAT(Values32(output, 3), ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_F(DeviceModelTest, BatchesInFlightKeepApart) {
  const auto model = Make(Doubled);
  ASSERT_EQ(model->places(), 3);
  std::vector<std::unique_ptr<TestRows>> rows;
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<OutputRef> outputs(9);
  for (int i = 0; i < 9; ++i) {
    const auto value = static_cast<float>(i);
    rows.push_back(std::make_unique<TestRows>(
        1, std::vector<int64_t>{2}, std::vector<float>{value, value}));
    batches.push_back(BatchOf({rows.back().get()}));
  }
  // As a StreamBackend does: two are started ahead of the one that lands.
  DeviceTimes times;
  for (int32_t i = 0; i < 9; ++i) {
    const auto at = static_cast<size_t>(i);
    if (i >= 2) {
      ASSERT_TRUE(model->AwaitComputed((i - 2) % 3, times).ok());
    }
    ASSERT_TRUE(model->CopyIn(i % 3, *batches[at]).ok());
    rows[at]->values = {-1, -1};  // the received bytes are gone
    ASSERT_TRUE(model->Compute(i % 3, *batches[at], outputs[at]).ok());
    if (i >= 2) {
      ASSERT_TRUE(model->AwaitCopiedOut((i - 2) % 3).ok());
      EXPECT_THAT(Values32(outputs[at - 2], 1),
                  Each(static_cast<float>(2 * (i - 2))));
    }
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

// A device with memory for so many rows.
ScriptedNetwork::Script MemoryFor(int64_t rows) {
  return [rows](const Values& inputs) {
    TORCH_CHECK_WITH(OutOfMemoryError, inputs[0].toTensor().size(0) <= rows,
                     "no memory");
    return inputs[0].toTensor() * 2;
  };
}

TEST_F(DeviceModelTest, WithoutMemoryABatchIsComputedInHalvesFromThenOn) {
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

// As TorchScript and AOTInductor say it: by no more than a text.
TEST_F(DeviceModelTest, ItIsSeenWhoeverSaysThatThereIsNoMemory) {
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

TEST_F(DeviceModelTest, NoBatchIsHalvedInVain) {
  options_.buckets = {4, 8};
  const auto model = Make(MemoryFor(2));
  TestRows three(3, {2}, std::vector<float>(6, 1));
  OutputRef output;
  EXPECT_EQ(Play(*model, *BatchOf({&three}), output).outcome.code,
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(runtime_.times_freed, 1);
}

TEST_F(DeviceModelTest, WithoutMemoryForHalfABatchItFailsAndTheNextRuns) {
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

TEST_F(DeviceModelTest, ABatchThatThrowsFailsAndTheNextRuns) {
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

// Nobody else waits for what a batch that fails has started until then.
TEST_F(DeviceModelTest, AfterABatchThatFailsOnItsWayInTheNextWaitsForItsCopy) {
  options_.spec.inputs.push_back({"z", DataType::kFp32, {kAnySize}});
  const auto model = Make(Doubled);
  TestRows one(1, {2}, {1, 2});
  TestRows other(1, {3}, {5, 6, 7});
  const std::array<TensorView, 2> views = {one.view, other.view};
  one.request.inputs = views;
  OutputRef output;
  runtime_.memory->left = 0;  // for the second input
  EXPECT_EQ(Play(*model, *BatchOf({&one}), output).outcome.code,
            absl::StatusCode::kInternal);
  runtime_.memory->left = ShortMemory::kNoEnd;
  one.values = {3, 4};
  ASSERT_TRUE(Play(*model, *BatchOf({&one}), output).ok());
  EXPECT_THAT(Values32(output, 1), ElementsAre(6, 8));
}

TEST_F(DeviceModelTest, AfterABatchThatFailsInAPieceTheNextWaitsForTheOthers) {
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

TEST_F(DeviceModelTest, AfterABatchThatFailsOnItsWayOutTheNextIsWhole) {
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

// Of what it has to wait for, it asks nobody.
TEST_F(DeviceModelTest, ABatchWaitsForAllThatItsPlaceHasUnderWay) {
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

TEST_F(DeviceModelTest, ALostDeviceIsTold) {
  const auto model = Make([&](const Values&) -> at::Tensor {
    runtime_.is_lost = true;
    throw std::runtime_error("an illegal memory access was encountered");
  });
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  EXPECT_TRUE(Play(*model, *BatchOf({&one}), output).is_lost);
}

TEST_F(DeviceModelTest, AnOutputThatDoesNotFitFailsItsBatch) {
  const auto model = Make([](const Values& inputs) {
    return inputs[0].toTensor().narrow(1, 0, 1);
  });
  TestRows one(1, {2}, {1, 2});
  OutputRef output;
  EXPECT_EQ(Play(*model, *BatchOf({&one}), output).outcome.code,
            absl::StatusCode::kInternal);
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
