// Tests what bf16 is compared with, what of a module is cast for it, and which
// modules mix their rows.
#include "models/torch/script/script_fit.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ScriptFitTest : public testing::Test {
 protected:
  using Fill = std::function<void(torch::jit::Module&)>;

  std::string Save(const std::string& source, const Fill& fill = nullptr) {
    torch::jit::Module module("m");
    at::manual_seed(3);
    if (fill != nullptr) {
      fill(module);
    }
    module.define(source);
    const std::string path = folder_.path("model.pt");
    module.save(path);
    return path;
  }

  static ModelOptions Options(std::vector<int64_t> in, std::vector<int64_t> out,
                              DataType type = DataType::kFp32) {
    ModelOptions options;
    options.name = "m";
    options.spec = {{{"x", type, std::move(in)}},
                    {{"y", DataType::kFp32, std::move(out)}},
                    8};
    options.batching = Batching::kAcrossRequests;
    return options;
  }

  // A row of x as a client may send it.
  static WarmUpSample Sample(const at::Tensor& row) {
    const auto* const bytes = static_cast<const std::byte*>(row.data_ptr());
    WarmUpSample sample;
    sample.name = "w";
    sample.inputs["x"] = {
        .dims = row.sizes().vec(),
        .data = WarmUpSample::Data::kFile,
        .file = "x",
        .bytes = std::make_shared<const std::vector<std::byte>>(
            bytes, bytes + row.nbytes())};
    return sample;
  }

  // Loads without warming up.
  LoadReport Load(const std::string& path, const ModelOptions& options) {
    LoadReport report;
    CpuModelsOrStatus models = absl::InternalError("not loaded");
    FerryLoadTorchModels(options, path, report, models);
    is_loaded_ = models.ok();
    return report;
  }

  const TempFolder folder_;
  bool is_loaded_ = false;
};

const char kWaves[] =
    "def forward(self, x):\n"
    "  t = torch.arange(x.shape[1]).float()\n"
    "  f = torch.outer(t, self.freq.float()).cos()\n"
    "  return f.expand(x.shape[0], -1, 4)\n";

void AddFrequencies(torch::jit::Module& module) {
  module.register_buffer("freq", at::tensor({0.3F, 0.1F, 0.03F, 0.01F}));
}

TEST_F(ScriptFitTest, BuffersKeepTheirDigits) {
  const LoadReport report =
      Load(Save(kWaves, AddFrequencies), Options({512}, {512, 4}));
  ASSERT_TRUE(is_loaded_) << report.why_not_bf16;
  ASSERT_TRUE(report.max_error.has_value());
  EXPECT_LT(*report.max_error, 0.01);
}

TEST_F(ScriptFitTest, BuffersThatOperatorsNeedInBf16AreCast) {
  const LoadReport report =
      Load(Save("def forward(self, x):\n  return torch.linear(x, self.w)\n",
                [](torch::jit::Module& module) {
                  module.register_buffer("w", at::randn({4, 8}));
                }),
           Options({8}, {4}));
  ASSERT_TRUE(is_loaded_) << report.why_not_bf16;
  EXPECT_GT(*report.max_error, 0);
}

TEST_F(ScriptFitTest, PositionsInTheInputsTypeAreTooFarOff) {
  const LoadReport report =
      Load(Save("def forward(self, x):\n"
                "  return x + torch.sin(torch.arange(512).to(x.dtype))\n"),
           Options({512}, {512}));
  EXPECT_FALSE(is_loaded_);
  EXPECT_THAT(report.why_not_bf16,
              AllOf(StartsWith("output 'y' is off by "),
                    HasSubstr("% of its largest value in fp32, expected at "
                              "most 5% (ferry.precision_tolerance)")));
}

TEST_F(ScriptFitTest, OutputThatIsOffIsNamed) {
  ModelOptions options = Options({300}, {300});
  options.spec.outputs.push_back({"z", DataType::kFp32, {300}});
  for (const char* const answer : {"(x * 2, z)", "{'z': z, 'y': x * 2}"}) {
    const LoadReport report =
        Load(Save(absl::StrCat("def forward(self, x):\n"
                               "  t = torch.arange(300).to(x.dtype)\n"
                               "  z = x + torch.remainder(t, 2.0)\n"
                               "  return ",
                               answer, "\n")),
             options);
    EXPECT_FALSE(is_loaded_) << answer;
    EXPECT_THAT(report.why_not_bf16, StartsWith("output 'z' is off by "));
  }
}

// 256 is the most that bf16 counts to.
TEST_F(ScriptFitTest, SizesThatVaryAreTriedLargeToo) {
  const LoadReport report =
      Load(Save("def forward(self, x):\n"
                "  t = torch.arange(x.shape[1]).to(x.dtype)\n"
                "  return x + torch.remainder(t, 2.0)\n"),
           Options({kAnySize}, {kAnySize}));
  EXPECT_FALSE(is_loaded_);
  EXPECT_THAT(report.why_not_bf16, StartsWith("output 'y' is off by "));
}

TEST_F(ScriptFitTest, OutputsInTheModulesOwnMemoryAreCompared) {
  ModelOptions options = Options({4}, {4});
  options.spec.max_batch_size = 0;
  const LoadReport report =
      Load(Save("def forward(self, x):\n  return self.w\n",
                [](torch::jit::Module& module) {
                  module.register_parameter("w", at::randn({4}), false);
                }),
           options);
  ASSERT_TRUE(is_loaded_) << report.why_not_bf16;
  EXPECT_GT(*report.max_error, 0);
}

TEST_F(ScriptFitTest, BuffersOf64BitsKeepThemInFp32) {
  ModelOptions options = Options({8}, {8});
  options.precision = Precision::kFp32;
  options.batching = Batching::kOwnRowsOnly;
  auto instance = TorchInstance::Create(
      options, Save("def forward(self, x):\n"
                    "  return ((x + self.base) - self.base).float()\n",
                    [](torch::jit::Module& module) {
                      module.register_buffer("base",
                                             at::full({8}, 1.7e9, at::kDouble));
                    }));
  ASSERT_TRUE(instance.ok()) << instance.status();
  const InstanceResult result = instance->Run({at::full({1, 8}, 0.5)});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[0], at::full({1, 8}, 0.5)));
}

// A sum of 1,000 has steps of 4 in bf16.
TEST_F(ScriptFitTest, OneNumberARowIsTriedUpToAThousand) {
  for (const DataType type : {DataType::kFp32, DataType::kInt64}) {
    const LoadReport report =
        Load(Save("def forward(self, x):\n"
                  "  y = torch.zeros([x.shape[0], 1], dtype=self.w.dtype)\n"
                  "  return torch.sin(x + y)\n",
                  [](torch::jit::Module& module) {
                    module.register_parameter("w", at::randn({8}), false);
                  }),
             Options({1}, {1}, type));
    EXPECT_THAT(report.why_not_bf16, StartsWith("output 'y' is off by "));
  }
}

TEST_F(ScriptFitTest, DrawnNumbersAreNotCompared) {
  ModelOptions options = Options({8}, {8});
  options.is_precision_chosen = true;
  const LoadReport report =
      Load(Save("def forward(self, x):\n  return x + torch.rand_like(x)\n"),
           options);
  EXPECT_TRUE(is_loaded_) << report.why_not_bf16;
  EXPECT_FALSE(report.max_error.has_value());
  EXPECT_THAT(report.why_not_compared, HasSubstr("other answers each time"));
}

TEST_F(ScriptFitTest, StateAloneIsNotTakenForDrawnNumbers) {
  const LoadReport report =
      Load(Save("def forward(self, x):\n"
                "  self.count += 1\n"
                "  return x + self.count\n",
                [](torch::jit::Module& module) {
                  module.register_buffer("count", at::zeros({1}));
                }),
           Options({8}, {8}));
  EXPECT_TRUE(is_loaded_) << report.why_not_bf16;
  EXPECT_TRUE(report.max_error.has_value()) << report.why_not_compared;
}

TEST_F(ScriptFitTest, BranchesThatZerosDoNotEnterAreSeen) {
  const LoadReport report =
      Load(Save("def forward(self, x):\n"
                "  if bool((x > 0).any()):\n"
                "    x = x + torch.ones([8])\n"
                "  return torch.linear(x, self.w)\n",
                [](torch::jit::Module& module) {
                  module.register_parameter("w", at::randn({4, 8}), false);
                }),
           Options({8}, {4}));
  EXPECT_FALSE(is_loaded_);
  EXPECT_THAT(report.why_not_bf16, StartsWith("forward() fails, "));
}

TEST_F(ScriptFitTest, IntegersThatDifferAreCounted) {
  ModelOptions options = Options({300}, {300});
  options.spec.outputs[0].type = DataType::kInt64;
  const LoadReport report =
      Load(Save("def forward(self, x):\n"
                "  t = torch.arange(300).to(x.dtype) * 3\n"
                "  return (t.expand(x.shape[0], -1)).long()\n"),
           options);
  EXPECT_FALSE(is_loaded_);
  EXPECT_THAT(report.why_not_bf16, StartsWith("output 'y' is off by "));
}

TEST_F(ScriptFitTest, NoNumberOnOneSideIsADifferenceOnBothIsNone) {
  EXPECT_THAT(Load(Save("def forward(self, x):\n"
                        "  return torch.log(x) + torch.log(-x)\n"),
                   Options({8}, {8}))
                  .why_not_bf16,
              IsEmpty());
  // 1 in bf16.
  EXPECT_THAT(Load(Save("def forward(self, x):\n"
                        "  return torch.log(1.001 * (x * 0 + 1) - 1)\n"),
                   Options({8}, {8}))
                  .why_not_bf16,
              HasSubstr("infinite or no number"));
}

// It compares equal, and the others tell whether buffers keep their digits.
TEST_F(ScriptFitTest, OutputThatIsAlwaysInfiniteLeavesTheOthersCompared) {
  ModelOptions options = Options({512}, {512, 4});
  options.spec.outputs.push_back({"z", DataType::kFp32, {512}});
  const LoadReport report =
      Load(Save("def forward(self, x):\n"
                "  t = torch.arange(x.shape[1]).float()\n"
                "  f = torch.outer(t, self.freq.float()).cos()\n"
                "  return f.expand(x.shape[0], -1, 4), x - float('inf')\n",
                AddFrequencies),
           options);
  ASSERT_TRUE(is_loaded_) << report.why_not_bf16;
  ASSERT_TRUE(report.max_error.has_value()) << report.why_not_compared;
  EXPECT_LT(*report.max_error, 0.01);
}

TEST_F(ScriptFitTest, ToleranceIsTheConfigs) {
  const char* const kSource =
      "def forward(self, x):\n  return x * torch.sin(torch.arange(512)"
      ".to(x.dtype))\n";
  ModelOptions options = Options({512}, {512});
  options.precision_tolerance = 1;
  const LoadReport report = Load(Save(kSource), options);
  EXPECT_TRUE(is_loaded_);
  EXPECT_GT(*report.max_error, 0.05);
}

TEST_F(ScriptFitTest, WhatDoesNotRunInFp32IsNotCompared) {
  const LoadReport report = Load(Save("def forward(self, x):\n"
                                      "  assert False, 'never'\n"
                                      "  return x\n"),
                                 Options({8}, {8}));
  EXPECT_TRUE(is_loaded_);
  EXPECT_FALSE(report.max_error.has_value());
  EXPECT_THAT(report.why_not_compared, HasSubstr("never"));
}

TEST_F(ScriptFitTest, LinearLayersOfWhatTakesNoRowAreSaidNotToBePacked) {
  const std::string path = Save(
      "def forward(self, x):\n"
      "  assert bool(x.max() > 5)\n"
      "  return torch.linear(x, self.w)\n",
      [](torch::jit::Module& module) {
        module.register_parameter("w", at::randn({4, 8}), false);
      });
  testing::internal::CaptureStdout();
  Load(path, Options({8}, {4}));
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("linear layers that are not packed"));
}

TEST_F(ScriptFitTest, WhatTakesNoRowIsNotLookedAtForMixedRows) {
  const std::string path = Save(
      "def forward(self, x):\n"
      "  assert False, 'never'\n"
      "  return x - x.mean(0)\n");
  for (const Precision precision : kPrecisions) {
    ModelOptions options = Options({8}, {8});
    options.precision = precision;
    EXPECT_THAT(Load(path, options).why_rows_unknown, HasSubstr("never"));
    options.batching = Batching::kOwnRowsOnly;
    EXPECT_THAT(Load(path, options).why_rows_unknown, IsEmpty());
  }
}

TEST_F(ScriptFitTest, StateIsThatOfTheFileAfterwards) {
  const std::string path = Save(
      "def forward(self, x):\n"
      "  self.count += 1\n"
      "  return x * 0 + self.count\n",
      [](torch::jit::Module& module) {
        module.register_buffer("count", at::zeros({1}));
      });
  ModelOptions options = Options({8}, {8});
  options.batching = Batching::kOwnRowsOnly;
  options.buckets = {8};  // three runs in warm-up
  auto instance = TorchInstance::Create(options, path);
  ASSERT_TRUE(instance.ok()) << instance.status();
  const InstanceResult result = instance->Run({at::ones({8, 8})});
  ASSERT_TRUE(result.outcome.ok());
  // One of them finds the row.
  EXPECT_EQ(result.outputs[0][0][0].item<float>(), 5);
}

// --- samples of the config ---------------------------------------------------

TEST_F(ScriptFitTest, SamplesAreComparedInsteadOfSyntheticRows) {
  const char* const kSource =
      "def forward(self, x):\n  return torch.remainder(x, 2.0)\n";
  EXPECT_TRUE(Load(Save(kSource), Options({4}, {4})).why_not_bf16.empty());
  ModelOptions options = Options({4}, {4});
  options.warm_up = {Sample(at::tensor({255.F, 257.F, 259.F, 1001.F}))};
  EXPECT_THAT(Load(Save(kSource), options).why_not_bf16,
              StartsWith("output 'y' is off by "));
}

TEST_F(ScriptFitTest, LargeSizesAreComparedBesideASample) {
  ModelOptions options = Options({kAnySize}, {kAnySize});
  options.warm_up = {Sample(at::ones({5}))};
  LoadReport report = Load(Save("def forward(self, x):\n"
                                "  return torch.relu(x) + 1\n"),
                           options);
  EXPECT_TRUE(is_loaded_) << report.why_not_bf16;
  EXPECT_EQ(report.largest_size, 384);
  report = Load(Save("def forward(self, x):\n"
                     "  t = torch.arange(x.shape[1]).to(x.dtype)\n"
                     "  return x + torch.remainder(t, 2.0)\n"),
                options);
  EXPECT_THAT(report.why_not_bf16, StartsWith("output 'y' is off by "));
}

// One row's integer differs of so few.
TEST_F(ScriptFitTest, ALargestOfTwoThatAreAlmostAlikeMayBeEither) {
  ModelOptions options = Options({2}, {1});
  options.spec.outputs[0].type = DataType::kInt64;
  options.warm_up = {Sample(at::tensor({1.F, 1.001F}))};
  const LoadReport report = Load(Save("def forward(self, x):\n"
                                      "  return x.argmax(1, keepdim=True)\n"),
                                 options);
  ASSERT_TRUE(is_loaded_) << report.why_not_bf16;
  EXPECT_GT(*report.max_error, 0);
}

// --- rows --------------------------------------------------------------------

TEST_F(ScriptFitTest, RowsThatDependOnEachOtherAreFound) {
  for (const char* const body :
       {"x - x.mean(0, keepdim=True)", "torch.softmax(x, 0)",
        "x * x.abs().max()", "x.flip(0)", "x.cumsum(0)",
        "x - x.sum().item()"}) {
    for (const Precision precision : kPrecisions) {
      ModelOptions options = Options({8}, {8});
      options.precision = precision;
      options.is_precision_chosen = true;
      const LoadReport report = Load(
          Save(absl::StrCat("def forward(self, x):\n  return ", body, "\n")),
          options);
      EXPECT_EQ(report.mixed_output, "y") << body;
    }
  }
}

TEST_F(ScriptFitTest, RowsByThemselvesAreNotTakenForMixed) {
  const auto add_weights = [](torch::jit::Module& module) {
    module.register_parameter("w", at::randn({8, 8}), false);
    module.register_parameter("c", at::randn({4, 1, 3}), false);
  };
  for (const char* const body :
       {"torch.linear(x, self.w)", "torch.softmax(torch.matmul(x, self.w), 1)",
        "torch.conv1d(x.unsqueeze(1), self.c, padding=1).mean(1)",
        "torch.rand_like(x)", "x * 0"}) {
    const LoadReport report =
        Load(Save(absl::StrCat("def forward(self, x):\n  return ", body, "\n"),
                  add_weights),
             Options({8}, {8}));
    EXPECT_TRUE(is_loaded_) << body << report.why_not_bf16;
    EXPECT_THAT(report.why_not_compared, Not(HasSubstr("does not run")))
        << body;
    EXPECT_THAT(report.mixed_output, IsEmpty()) << body;
    EXPECT_THAT(report.why_rows_unknown, IsEmpty()) << body;
  }
}

TEST_F(ScriptFitTest, StringsBesideNumbersDoNotHideRowsThatAreMixed) {
  ModelOptions options = Options({8}, {8});
  options.spec.outputs.push_back({"s", DataType::kBytes, {1}});
  const std::string path = Save(
      "def forward(self, x):\n"
      "  s = ['a' for i in range(x.shape[0])]\n"
      "  return x - x.mean(0, keepdim=True), s\n");
  EXPECT_EQ(Load(path, options).mixed_output, "y");
  const LoadReport beside =
      Load(Save("def forward(self, x):\n"
                "  m = str(float(x.mean()))\n"
                "  return x * 2, [m for i in range(x.shape[0])]\n"),
           options);
  EXPECT_THAT(beside.mixed_output, IsEmpty());
  EXPECT_FALSE(beside.has_independent_rows);
  EXPECT_EQ(beside.why_not_independent,
            "output 's' has no numbers for each row");
  options.spec.outputs.erase(options.spec.outputs.begin());
  EXPECT_THAT(Load(Save("def forward(self, x):\n"
                        "  return ['a' for i in range(x.shape[0])]\n"),
                   options)
                  .why_rows_unknown,
              HasSubstr("none of its outputs is of numbers"));
}

// What pads a batch is mixed in as other requests are.
TEST_F(ScriptFitTest, RowsThatArePaddedAreLookedAt) {
  const std::string path =
      Save("def forward(self, x):\n  return x - x.mean(0, keepdim=True)\n");
  ModelOptions options = Options({8}, {8});
  options.batching = Batching::kOwnRowsOnly;
  EXPECT_THAT(Load(path, options).mixed_output, IsEmpty());
  EXPECT_TRUE(is_loaded_);
  options.buckets = {2, 8};
  EXPECT_EQ(Load(path, options).mixed_output, "y");
  EXPECT_TRUE(is_loaded_);
}

// What a config leaves out is batched as what it says.
TEST_F(ScriptFitTest, RowsOfACompletedConfigAreLookedAt) {
  ModelOptions options;
  options.name = "m";
  options.spec.max_batch_size = 8;
  const LoadReport report =
      Load(Save("def forward(self, x):\n  return x - x.mean(0, keepdim=True)\n",
                [](torch::jit::Module& module) {
                  module.store_traced_inputs("forward", {at::ones({2, 8})});
                }),
           options);
  EXPECT_TRUE(is_loaded_);
  EXPECT_EQ(report.mixed_output, "OUTPUT__0");
}

}  // namespace
}  // namespace ferry
