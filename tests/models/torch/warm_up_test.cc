// What runs before a model is ready, and what of it is an error.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/warm_up_data.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using WarmUpTest = ScriptTest;

const TensorSpec kAny = {"x", DataType::kFp32, {kAnySize}};
const TensorSpec kAnyOut = {"y", DataType::kFp32, {kAnySize}};

TEST_F(WarmUpTest, WhatNoMadeUpSizeCanExplainIsAnError) {
  const ModelOptions options = Options({kAny}, {kAnyOut});
  EXPECT_THAT(LoadError("def forward(self, x):\n  return x > 0\n", options),
              HasSubstr("output 'y': expected FP32, the model gives Bool"));
  EXPECT_THAT(
      LoadError("def forward(self, x):\n  return x.unsqueeze(0)\n", options),
      HasSubstr("output 'y': expected shape [1,-1], the model gives "
                "[1,1,16]"));
  EXPECT_THAT(LoadError("def forward(self, x):\n  return {'z': x}\n", options),
              HasSubstr("output 'y': the model gives z"));
  EXPECT_THAT(LoadError("def forward(self, x):\n  return x[:1]\n", options),
              HasSubstr("output 'y': expected shape [2,-1], the model gives "
                        "[1,16]"));
}

TEST_F(WarmUpTest, SizesAreTriedUntilTheModelRuns) {
  const ModelOptions options = Options({kAny}, {{"y", DataType::kFp32, {64}}});
  const auto lane =
      TorchLane::Create(options, Save("def forward(self, x):\n"
                                      "  return x.view([-1, 64]) + 1\n"));
  ASSERT_TRUE(lane.ok()) << lane.status();
  EXPECT_EQ(lane->warm_up_failure(), "");
}

TEST_F(WarmUpTest, ModelThatTakesNoneOfTheSizesMayTakeThoseOfClients) {
  auto lane = TorchLane::Create(Options({kAny}, {kAnyOut}),
                                Save("def forward(self, x):\n"
                                     "  return torch.matmul(x, self.w.t())\n"));
  ASSERT_TRUE(lane.ok()) << lane.status();
  EXPECT_THAT(lane->warm_up_failure(),
              AllOf(HasSubstr("forward() of zeros with any of 16, 32,"),
                    HasSubstr("'x' [1,16]")));
  EXPECT_TRUE(lane->Run({at::ones({2, 3})}).outcome.ok());
}

TEST_F(WarmUpTest, ModelOfFixedShapesThatThrowsIsRefused) {
  EXPECT_THAT(LoadError("def forward(self, x):\n"
                        "  assert bool(x.sum() > 0)\n"
                        "  return x\n",
                        Options({kX}, {{"y", DataType::kFp32, {3}}})),
              HasSubstr("forward() of zeros fails, with 'x' [1,3]: "));
}

ModelOptions WithSample(ModelOptions options, WarmUpSample::Data data,
                        std::vector<int64_t> dims) {
  options.warm_up = {{.name = "w",
                      .count = 1,
                      .inputs = {{"x",
                                  {.dims = std::move(dims),
                                   .data = data,
                                   .file = "x",
                                   .bytes = nullptr}}}}};
  return options;
}

TEST_F(WarmUpTest, SamplesComeInPlaceOfZeros) {
  const std::string picky =
      "def forward(self, x):\n"
      "  assert bool(x.abs().sum() > 0)\n"
      "  return torch.matmul(x, self.w.t())\n";
  ModelOptions options =
      WithSample(Options({kAny}, {kAnyOut}), WarmUpSample::Data::kRandom, {3});
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  const auto lane = TorchLane::Create(options, Save(picky));
  ASSERT_TRUE(lane.ok()) << lane.status();
  EXPECT_EQ(lane->warm_up_failure(), "");
}

TEST_F(WarmUpTest, SampleThatFailsIsAnErrorWhateverTheDims) {
  ModelOptions options =
      WithSample(Options({kAny}, {kAnyOut}), WarmUpSample::Data::kZeros, {5});
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  EXPECT_THAT(LoadError("def forward(self, x):\n"
                        "  return torch.matmul(x, self.w.t())\n",
                        options),
              HasSubstr("forward() of model_warmup 'w' fails, with 'x' [1,5]"));
}

TEST_F(WarmUpTest, SampleOfAnotherModelIsAnError) {
  ModelOptions options =
      WithSample(Options({{"z", DataType::kFp32, {3}}}, {kY}),
                 WarmUpSample::Data::kZeros, {3});
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  EXPECT_THAT(
      LoadError("def forward(self, z):\n  return torch.linear(z, self.w)\n",
                options),
      HasSubstr("model_warmup 'w': expected input 'z' as FP32 [3]"));
}

TEST_F(WarmUpTest, OutputOfOneWrongSizeForAllIsAnError) {
  EXPECT_THAT(LoadError("def forward(self, x):\n  return x[:, :1] + self.b\n",
                        Options({kAny}, {{"y", DataType::kFp32, {3}}})),
              HasSubstr("output 'y': expected shape [1,3], the model gives "
                        "[1,4]"));
}

TEST_F(WarmUpTest, SizesAreTriedPastRowsThatDoNotFit) {
  ModelOptions options = Options({kAny}, {{"y", DataType::kFp32, {64}}});
  options.buckets = {4, 8};
  const auto lane =
      TorchLane::Create(options, Save("def forward(self, x):\n"
                                      "  return x.view([-1, 64]) + 1\n"));
  ASSERT_TRUE(lane.ok()) << lane.status();
  EXPECT_EQ(lane->warm_up_failure(), "");
}

}  // namespace
}  // namespace ferry
