// Tests what runs before a model is ready, and what of it is an error.
#include "models/torch/warm_up.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/config/warm_up_data.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;

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
  const auto instance =
      TorchInstance::Create(options, Save("def forward(self, x):\n"
                                          "  return x.view([-1, 64]) + 1\n"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->warm_up_failure(), "");
}

TEST_F(WarmUpTest, ModelThatTakesNoneOfTheSizesMayTakeThoseOfClients) {
  auto instance =
      TorchInstance::Create(Options({kAny}, {kAnyOut}),
                            Save("def forward(self, x):\n"
                                 "  return torch.matmul(x, self.w.t())\n"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_THAT(instance->warm_up_failure(),
              AllOf(HasSubstr("forward() of zeros with any of 16, 32,"),
                    HasSubstr("'x' [1,16]")));
  EXPECT_TRUE(instance->Run({at::ones({2, 3})}).outcome.ok());
}

TEST_F(WarmUpTest, ModelOfFixedShapesThatThrowsIsRefusedWithLinesToPaste) {
  EXPECT_THAT(
      LoadError("def forward(self, x):\n"
                "  assert bool(x.sum() > 3)\n"
                "  return x\n",
                Options({kX}, {{"y", DataType::kFp32, {3}}})),
      AllOf(HasSubstr("forward() of zeros fails, with 'x' [1,3]: "),
            HasSubstr("it fails of ones and small numbers, too"),
            HasSubstr("model_warmup {\n"
                      "  name: \"row\" batch_size: 1\n"
                      "  inputs { key: \"x\" value { data_type: TYPE_FP32 "
                      "dims: [ 3 ] input_data_file: \"row.0\" } }\n"
                      "}")));
}

// Each by other values than zeros.
TEST_F(WarmUpTest, ModelThatFailsOfZerosIsRunWithOtherValues) {
  struct Case {
    DataType type;
    const char* source;
  };
  for (const Case& one :
       {Case{DataType::kInt64,
             "def forward(self, x):\n"
             "  assert bool((x > 0).all())\n"
             "  return x\n"},
        Case{DataType::kInt32,
             "def forward(self, x):\n"
             "  assert bool((x > 0).all()) and bool(x.max() > 1)\n"
             "  return x\n"},
        Case{DataType::kBool,
             "def forward(self, x):\n"
             "  assert bool(x.all())\n"
             "  return x\n"},
        Case{DataType::kFp32,
             "def forward(self, x):\n"
             "  assert bool(x.sum() > 0) and bool(x.min() < 1)\n"
             "  return x\n"},
        Case{DataType::kFp16,
             "def forward(self, x):\n"
             "  assert bool(x.sum() > 0) and bool(x.max() <= 1)\n"
             "  return x\n"},
        Case{DataType::kBytes,
             "def forward(self, x: List[str]):\n"
             "  assert len(x[0]) > 0\n"
             "  return x\n"},
        Case{DataType::kBytes,
             "def forward(self, x: List[str]):\n"
             "  assert int(x[0]) > 0\n"
             "  return x\n"}}) {
    const auto instance = TorchInstance::Create(
        Options({{"x", one.type, {3}}}, {{"y", one.type, {3}}}),
        Save(one.source));
    EXPECT_TRUE(instance.ok()) << one.source << instance.status();
  }
}

// No other value would mend it.
TEST_F(WarmUpTest, OutputsThatDoNotFitAreToldOfTheFirstValuesThatRun) {
  EXPECT_THAT(LoadError("def forward(self, x):\n"
                        "  assert bool((x > 0).all())\n"
                        "  return x[:, :2]\n",
                        Options({kX}, {{"y", DataType::kFp32, {3}}})),
              HasSubstr("output 'y': expected shape [1,3], the model gives "
                        "[1,2]"));
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
  const auto instance = TorchInstance::Create(options, Save(picky));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->warm_up_failure(), "");
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

// --- what is run, without a model --------------------------------------------

struct RunSample {
  int32_t rows;
  std::vector<bool> given;    // [input]
  std::vector<size_t> bytes;  // [input], of the first row
};

// `runs`: of each size.
std::vector<RunSample> RunAll(const ModelOptions& options, int segments) {
  std::vector<RunSample> all;
  const auto segment = [&all](const Batch& batch) {
    RunSample& sample = all.emplace_back();
    sample.rows = batch.rows();
    for (const TensorView& input : batch.entries().front().request->inputs) {
      sample.given.push_back(input.is_given);
      sample.bytes.push_back(input.is_given ? input.segments.front().size : 0);
    }
    return absl::OkStatus();
  };
  WarmUp warm_up(options, segments, MadeUpIntegers::kAny, segment);
  EXPECT_TRUE(warm_up.Run().ok());
  return all;
}

std::vector<int32_t> RowsOf(const std::vector<RunSample>& all) {
  std::vector<int32_t> rows;
  for (const RunSample& sample : all) {
    rows.push_back(sample.rows);
  }
  return rows;
}

WarmUpSample Zeros(std::vector<int64_t> dims, int32_t rows, int32_t count) {
  WarmUpSample sample;
  sample.rows = rows;
  sample.count = count;
  sample.inputs["x"].dims = std::move(dims);
  return sample;
}

TEST(WarmUpSamplesTest, FirstIsRunInAllSizesEachInItsOwnAsOftenAsItSays) {
  ModelOptions options;
  options.spec = {{kAny}, {kAnyOut}, 4};
  options.warm_up = {Zeros({3}, 2, 3), Zeros({5}, 4, 1)};
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  const auto all = RunAll(options, 1);
  EXPECT_THAT(RowsOf(all), ElementsAre(1, 2, 4, 3, 2, 2, 2, 4));
  EXPECT_THAT(all.front().bytes, ElementsAre(3 * sizeof(float)));
  EXPECT_THAT(all.back().bytes, ElementsAre(5 * sizeof(float)));
}

// Floats there may become indices, of which 1 is past the end.
TEST(WarmUpValuesTest, FloatsOfADeviceAreBelowOne) {
  ModelOptions options;
  options.spec = {{{"x", DataType::kFp32, {1}}}, {kAnyOut}, 1};
  std::vector<float> values;
  WarmUp warm_up(options, 1, MadeUpIntegers::kZeros, [&](const Batch& batch) {
    const InferRequest& request = *batch.entries().front().request;
    values.push_back(*reinterpret_cast<const float*>(
        request.inputs[0].segments.front().data));
    return absl::InternalError("another, please");
  });
  EXPECT_FALSE(warm_up.Run().ok());
  EXPECT_THAT(values, ElementsAre(0, 0.98F, AllOf(Gt(0), Lt(0.98F))));
}

TEST(WarmUpSamplesTest, RunsThatAModelNeedsAreMadeAtLeast) {
  ModelOptions options;
  options.spec = {{kAny}, {kAnyOut}, 2};
  options.warm_up = {Zeros({3}, 2, 1)};
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  EXPECT_THAT(RowsOf(RunAll(options, 3)),
              ElementsAre(1, 1, 1, 2, 2, 2, 2, 2, 2));
}

TEST(WarmUpSamplesTest, BatchesAreOfBucketsWhereThereAreAny) {
  ModelOptions options;
  options.spec = {{kAny}, {kAnyOut}, 8};
  options.buckets = {4, 8};
  options.warm_up = {Zeros({3}, 5, 1)};
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  EXPECT_THAT(RowsOf(RunAll(options, 1)), ElementsAre(4, 8, 8));
}

TEST(WarmUpSamplesTest, OptionalInputMayBeLeftOut) {
  ModelOptions options;
  options.spec = {{kAny, {"z", DataType::kInt64, {2}, true}}, {kAnyOut}, 1};
  options.warm_up = {Zeros({3}, 1, 1), Zeros({3}, 1, 1)};
  WarmUpSample::Input& z = options.warm_up[1].inputs["z"];
  z.type = DataType::kInt64;
  z.dims = {2};
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  const auto all = RunAll(options, 1);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(all[1].given, ElementsAre(true, false));
  EXPECT_THAT(all[2].given, ElementsAre(true, true));
  EXPECT_THAT(all[2].bytes, ElementsAre(12u, 16u));
}

// --- sizes that are padded to ------------------------------------------------

// An input that is padded to those sizes, or as another.
TensorSpec Padded(const char* name, std::vector<int64_t> pads,
                  std::optional<size_t> follows = std::nullopt) {
  TensorSpec spec = {name, DataType::kInt8, {kAnySize}};
  spec.pads = std::move(pads);
  spec.follows = follows;
  return spec;
}

TEST(WarmUpPadsTest, EachSizeOfEachInputIsRunWithThoseThatFollowIt) {
  ModelOptions options;
  options.spec = {{Padded("a", {4, 64}),
                   Padded("b", {4, 64}, 0),
                   Padded("c", {2, 32}),
                   {"any", DataType::kInt8, {kAnySize}}},
                  {kAnyOut},
                  2};
  options.spec.inputs[1].is_mask = options.spec.inputs[1].is_optional = true;
  options.buckets = {2};
  std::vector<std::vector<size_t>> bytes;
  for (const RunSample& segment : RunAll(options, 1)) {
    EXPECT_THAT(segment.given, ElementsAre(true, true, true, true))
        << "a mask is made";
    bytes.push_back(segment.bytes);
  }
  EXPECT_THAT(bytes,
              ElementsAre(ElementsAre(4, 4, 2, 16),  // is it taken?
                          ElementsAre(4, 4, 2, 16), ElementsAre(4, 4, 2, 16),
                          ElementsAre(64, 64, 2, 16), ElementsAre(4, 4, 2, 16),
                          ElementsAre(4, 4, 32, 16)));
}

TEST(WarmUpPadsTest, EachSizeIsRunBesideSamples) {
  ModelOptions options;
  options.spec = {{Padded("x", {4, 64})}, {kAnyOut}, 2};
  options.buckets = {2};
  options.warm_up = {Zeros({3}, 1, 1)};
  options.warm_up[0].inputs["x"].type = DataType::kInt8;
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  std::vector<size_t> bytes;
  for (const RunSample& segment : RunAll(options, 1)) {
    bytes.push_back(segment.bytes[0]);
  }
  EXPECT_THAT(bytes, ElementsAre(3, 4, 64, 3));
}

TEST_F(WarmUpTest, SizeOfWhichOneFailsIsRefused) {
  const std::string picky =
      "def forward(self, x):\n"
      "  assert x.size(1) != SIZE, 'not of this size'\n"
      "  return x[:, :1]\n";
  ModelOptions options =
      Options({Padded("x", {16, 32, 64})}, {{"y", DataType::kInt8, {1}}});
  for (const std::string size : {"16", "32", "64"}) {
    std::string source = picky;
    source.replace(source.find("SIZE"), 4, size);
    EXPECT_THAT(LoadError(source, options),
                AllOf(HasSubstr("forward() of zeros fails"),
                      HasSubstr("'x' [1," + size + "]")));
  }
}

TEST_F(WarmUpTest, MaskIsOnesInADictToo) {
  ModelOptions options =
      Options({Padded("x", {16}), Padded("mask", {16}, 0)}, {kAnyOut});
  options.spec.inputs[1].is_mask = options.spec.inputs[1].is_optional = true;
  options.spec.outputs = {{"y", DataType::kInt8, {1}}};
  const auto instance = TorchInstance::Create(
      options, Save("def forward(self, all: Dict[str, Tensor]):\n"
                    "  assert bool((all['mask'] == 1).all())\n"
                    "  return all['x'][:, :1]\n"));
  EXPECT_TRUE(instance.ok()) << instance.status();
}

TEST_F(WarmUpTest, SampleWhoseInputsDifferInSizeIsRefused) {
  ModelOptions options =
      Options({Padded("x", {16}), Padded("z", {16}, 0)}, {kAnyOut});
  options.warm_up = {Zeros({3}, 1, 1)};
  options.warm_up[0].inputs["z"].dims = {4};
  for (auto& [name, input] : options.warm_up[0].inputs) {
    input.type = DataType::kInt8;
  }
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  EXPECT_THAT(LoadError("def forward(self, x, z):\n  return x\n", options),
              HasSubstr("expected input 'z' of the size of 'x', 3, got 4"));
}

TEST_F(WarmUpTest, SamplesOfStringsAreRun) {
  const std::string picky =
      "def forward(self, x: List[str]):\n"
      "  assert len(x[0]) == 8\n"
      "  return x\n";
  const TensorSpec text = {"x", DataType::kBytes, {1}};
  ModelOptions options = Options({text}, {{"y", DataType::kBytes, {1}}});
  EXPECT_THAT(LoadError(picky, options), HasSubstr("forward() of zeros fails"));
  options = WithSample(std::move(options), WarmUpSample::Data::kRandom, {1});
  options.warm_up[0].inputs["x"].type = DataType::kBytes;
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  const auto instance = TorchInstance::Create(options, Save(picky));
  EXPECT_TRUE(instance.ok()) << instance.status();
}

// --- samples that do not fit -------------------------------------------------

TEST_F(WarmUpTest, SampleThatGivesOtherOutputsIsNamed) {
  ModelOptions options =
      WithSample(Options({kAny}, {{"y", DataType::kFp32, {3}}}),
                 WarmUpSample::Data::kZeros, {5});
  ASSERT_TRUE(ReadWarmUpData("", options.warm_up).ok());
  EXPECT_THAT(LoadError("def forward(self, x):\n  return x\n", options),
              HasSubstr("model_warmup 'w': output 'y': expected shape [1,3]"));
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
  const auto instance =
      TorchInstance::Create(options, Save("def forward(self, x):\n"
                                          "  return x.view([-1, 64]) + 1\n"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->warm_up_failure(), "");
}

}  // namespace
}  // namespace ferry
