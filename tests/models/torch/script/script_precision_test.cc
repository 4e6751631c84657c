// Tests which types a TorchScript module computes in: weights of every type
// under every precision.
#include "gmock/gmock.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class ScriptPrecisionTest : public ScriptTest {
 protected:
  // `w`: a parameter of the module, or a buffer where it is no float.
  InstanceResult Run(const std::string& source, const at::Tensor& w,
                     const ModelOptions& options, const at::Tensor& input) {
    auto instance = TorchInstance::Create(options, SaveWith(source, w));
    EXPECT_TRUE(instance.ok()) << instance.status();
    return instance.ok()
               ? instance->Run({input})
               : InstanceResult{{absl::StatusCode::kInternal, ""}, {}};
  }

  std::string LoadError(const std::string& source, const at::Tensor& w,
                        const ModelOptions& options) {
    const auto instance = TorchInstance::Create(options, SaveWith(source, w));
    EXPECT_FALSE(instance.ok());
    return std::string(instance.status().message());
  }

  // `traced`: the examples that the file keeps, or none.
  std::string SaveWith(const std::string& source, const at::Tensor& w,
                       std::vector<c10::IValue> traced = {}) {
    torch::jit::Module module("m");
    module.register_parameter("w", w, /*is_buffer=*/!w.is_floating_point());
    module.define(source);
    module.store_traced_inputs("forward", std::move(traced));
    const std::string path = folder_.path("model.pt");
    module.save(path);
    return path;
  }

  static ModelOptions Of(TensorSpec input, TensorSpec output,
                         Precision precision) {
    ModelOptions options = Options({std::move(input)}, {std::move(output)});
    options.precision = precision;
    return options;
  }
};

// bf16 has 8 bits of digits, fp32 24.
TEST_F(ScriptPrecisionTest, BuffersOfIntegersStayWhatTheyAre) {
  const at::Tensor ids = at::tensor({100'000'001L, 257L, 100'000'333L});
  for (const Precision precision : kPrecisions) {
    const InstanceResult result =
        Run("def forward(self, i):\n  return self.w[i]\n", ids,
            Of({"i", DataType::kInt64, {1}}, {"y", DataType::kInt64, {1}},
               precision),
            at::tensor({2L, 0L, 1L}).view({3, 1}));
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
    EXPECT_TRUE(
        at::equal(result.outputs[0],
                  at::tensor({100'000'333L, 100'000'001L, 257L}).view({3, 1})))
        << PrecisionName(precision) << result.outputs[0];
  }
}

TEST_F(ScriptPrecisionTest, BuffersOfBoolsStayMasks) {
  const at::Tensor mask = at::tensor({1, 0, 1}).to(at::kBool);
  for (const Precision precision : kPrecisions) {
    const InstanceResult result = Run(
        "def forward(self, x):\n  return x.masked_fill(self.w, 0.0)\n", mask,
        Of(kX, {"y", DataType::kFp32, {3}}, precision), at::full({2, 3}, 5.0F));
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
    EXPECT_TRUE(at::equal(result.outputs[0],
                          at::tensor({0.F, 5.F, 0.F}).expand({2, 3})));
  }
}

TEST_F(ScriptPrecisionTest, NativeLeavesFloatsAsTheyAre) {
  const at::Tensor third = at::full({3}, 1.0 / 3, at::kDouble);
  const at::Tensor x = at::randn({2, 3}, at::kDouble);
  const TensorSpec in = {"x", DataType::kFp64, {3}};
  const TensorSpec out = {"y", DataType::kFp64, {3}};
  const char kTimes[] = "def forward(self, x):\n  return x * self.w\n";
  const InstanceResult native =
      Run(kTimes, third, Of(in, out, Precision::kNative), x);
  ASSERT_TRUE(native.outcome.ok()) << native.outcome.text;
  EXPECT_TRUE(at::equal(native.outputs[0], x * third));
  const InstanceResult fp32 =
      Run(kTimes, third, Of(in, out, Precision::kFp32), x);
  ASSERT_TRUE(fp32.outcome.ok()) << fp32.outcome.text;
  EXPECT_FALSE(at::equal(fp32.outputs[0], x * third));
}

// Halves inside, floats on the wire.
TEST_F(ScriptPrecisionTest, NativeRunsWhatCastsByItself) {
  const at::Tensor w = at::randn({4, 3}).to(at::kHalf);
  const at::Tensor x = at::randn({2, 3});
  const char kHalf[] =
      "def forward(self, x):\n"
      "  return torch.linear(x.half(), self.w).float()\n";
  const InstanceResult result =
      Run(kHalf, w, Of(kX, kY, Precision::kNative), x);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::allclose(result.outputs[0], at::linear(x, w.to(at::kFloat)),
                           0.01, 0.01));
  EXPECT_THAT(LoadError(kHalf, w, Of(kX, kY, Precision::kFp32)),
              AnyOf(HasSubstr("gives a linear layer another type than Float"),
                    HasSubstr("dtype")));
}

TEST_F(ScriptPrecisionTest, PackedLayerSaysWhichTypeItComputesIn) {
  const char kUpcast[] =
      "def forward(self, x):\n  return torch.linear(x.float(), self.w)\n";
  EXPECT_THAT(
      LoadError(kUpcast, at::randn({4, 3}), Of(kX, kY, Precision::kBf16)),
      AnyOf(HasSubstr("gives a linear layer another type than BFloat16"),
            HasSubstr("dtype")));
  const at::Tensor w = at::randn({4, 3});
  const at::Tensor x = at::randn({2, 3});
  const InstanceResult result =
      Run(kUpcast, w, Of(kX, kY, Precision::kFp32), x);
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::allclose(result.outputs[0], at::linear(x, w), 1e-5, 1e-5));
}

TEST_F(ScriptPrecisionTest, ProbesRunInFp32OrElseInTheTypesOfTheFile) {
  const at::Tensor w = at::ones({4, 3}, at::kHalf);
  const TensorSpec half = {"x", DataType::kFp16, {3}};
  const char kPlain[] =
      "def forward(self, x):\n  return torch.linear(x, self.w)\n";
  auto instance =
      TorchInstance::Create(Options({half}, {}), SaveWith(kPlain, w));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp32);

  // What bf16 cannot run is complete all the same: its failure is of the batch.
  const char kCasts[] =
      "def forward(self, x):\n  return torch.matmul(x.half(), self.w.t())\n";
  EXPECT_THAT(LoadError(kCasts, w, Options({kX}, {})), HasSubstr("BFloat16"));
  ModelOptions native = Options({kX}, {});
  native.precision = Precision::kNative;
  instance = TorchInstance::Create(native, SaveWith(kCasts, w));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp16);
  EXPECT_THAT(LoadError(kCasts, w, Options({{"x", DataType::kFp32, {5}}}, {})),
              AllOf(HasSubstr("a probe forward with zeros failed: "),
                    HasSubstr("; in the types of the file: ")));
}

// No parameter is left that could be cast.
TEST_F(ScriptPrecisionTest, FrozenHalvesAreCompleteInTheirOwnType) {
  torch::jit::Module module("m");
  module.register_parameter("w", at::ones({4, 3}, at::kHalf), false);
  module.define(
      "def forward(self, x):\n  return torch.matmul(x, self.w.t())\n");
  module.eval();
  const std::string path = folder_.path("model.pt");
  torch::jit::freeze(module).save(path);
  ModelOptions options = Options({{"x", DataType::kFp16, {3}}}, {});
  const auto in_bf16 = TorchInstance::Create(options, path);
  EXPECT_THAT(
      std::string(in_bf16.status().message()),
      AllOf(HasSubstr("forward() of zeros fails"), HasSubstr("BFloat16")));
  options.precision = Precision::kNative;
  const auto instance = TorchInstance::Create(options, path);
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp16);
}

// Its batch is fixed: the probe for rows fails first.
TEST_F(ScriptPrecisionTest, FailedTestOfRowsLeavesProbesInTheFilesTypes) {
  const std::string path = SaveWith(
      "def forward(self, x):\n"
      "  return torch.matmul(x.half().view([2, 3]), self.w.t())\n",
      at::ones({4, 3}, at::kHalf), {at::ones({2, 3})});
  ModelOptions options;
  options.name = "m";
  const auto instance = TorchInstance::Create(options, path);
  EXPECT_THAT(
      std::string(instance.status().message()),
      AllOf(HasSubstr("forward() of zeros fails"), HasSubstr("BFloat16")));
}

TEST_F(ScriptPrecisionTest, TracedHalvesAreSeenToBatchInTheirOwnType) {
  const std::string path =
      SaveWith("def forward(self, x):\n  return torch.linear(x, self.w)\n",
               at::randn({4, 3}).to(at::kHalf), {at::ones({2, 3}, at::kHalf)});
  ModelOptions options;
  options.name = "m";
  options.precision = Precision::kNative;
  const auto instance = TorchInstance::Create(options, path);
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_GT(instance->spec().max_batch_size, 1);
  EXPECT_EQ(instance->spec().inputs[0].type, DataType::kFp16);
  EXPECT_EQ(instance->spec().outputs[0].type, DataType::kFp16);
}

}  // namespace
}  // namespace ferry
