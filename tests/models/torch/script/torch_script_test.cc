// Tests TorchScript models through an instance: types, shapes, buckets, images,
// failures. The files are made here.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/failure_reason.h"
#include "models/torch/networks/onednn_ops.h"
#include "models/torch/script/pack_linear.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

using TorchScriptTest = ScriptTest;

TEST_F(TorchScriptTest, LinearLayerInBothPrecisions) {
  const at::Tensor x = at::randn({5, 3});
  for (Precision precision : {Precision::kBf16, Precision::kFp32}) {
    ModelOptions options = Options({kX}, {kY});
    options.precision = precision;
    const InstanceResult result = Run(kLinear, options, {x});
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
    const at::Tensor expected = at::relu(at::linear(x, weight_, bias_));
    const double tolerance = precision == Precision::kBf16 ? 0.05 : 1e-5;
    EXPECT_TRUE(at::allclose(result.outputs[0], expected, tolerance, tolerance))
        << result.outputs[0] << expected;
  }
}

TEST_F(TorchScriptTest, ModelHasTheShapeOfReshapeAndTheWireThatOfDims) {
  // The model takes [rows] and [rows, 2, n], and gives [rows, n, 2].
  ModelOptions options = Options(
      {{"a", DataType::kFp32, {1}}, {"b", DataType::kFp32, {kAnySize, 2}}},
      {{"y", DataType::kFp32, {kAnySize, 1, 2}}});
  options.precision = Precision::kFp32;
  options.input_reshapes = {std::vector<int64_t>{},
                            std::vector<int64_t>{2, kAnySize}};
  options.output_reshapes = {std::vector<int64_t>{kAnySize, 2}};
  const at::Tensor a = at::randn({3, 1});
  const at::Tensor b = at::randn({3, 5, 2});
  const InstanceResult result =
      Run("def forward(self, a, b):\n"
          "  assert a.dim() == 1\n"
          "  return b.transpose(1, 2) * a.view([-1, 1, 1])\n",
          options, {a, b});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  const at::Tensor expected =
      (b.view({3, 2, 5}).transpose(1, 2) * a.view({3, 1, 1}));
  EXPECT_TRUE(
      at::equal(result.outputs[0], expected.contiguous().view({3, 5, 1, 2})));
}

TEST_F(TorchScriptTest, OutputThatIsNotOfTheShapeOfReshapeIsRefused) {
  ModelOptions options = Options({kX}, {{"y", DataType::kFp32, {2, 2}}});
  options.output_reshapes = {std::vector<int64_t>{1, 4}};
  EXPECT_THAT(LoadError(kLinear, options),
              HasSubstr("output 'y': expected shape [1,1,4], the model gives "
                        "[1,4]"));
}

TEST_F(TorchScriptTest, LinearWithoutBiasAndWithoutRelu) {
  const at::Tensor x = at::randn({2, 3});
  const InstanceResult result =
      Run("def forward(self, x):\n"
          "  y = torch.linear(x, self.w)\n"
          "  return torch.relu(y) + y\n",
          Options({kX}, {kY}), {x});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  const at::Tensor y = at::linear(x, weight_);
  EXPECT_TRUE(at::allclose(result.outputs[0], at::relu(y) + y, 0.05, 0.05));
}

TEST_F(TorchScriptTest, LinearLayersRunOnPackedWeightsInBf16) {
  if (!onednn::HasMatrixKernels()) {
    GTEST_SKIP() << "this processor has no bf16 kernels";
  }
  torch::jit::Module module =
      torch::jit::load(Save("def forward(self, x):\n"
                            "  if bool(x.sum() > 0):\n"
                            "    x = torch.linear(x, self.w).relu_()\n"
                            "  else:\n"
                            "    x = torch.linear(x, self.w, self.b)\n"
                            "  return x\n"));
  module.eval();
  module.to(at::kBFloat16);
  module = torch::jit::freeze(module);
  PackLinearLayers(module, Options({kX}, {kY}));
  const std::string graph = module.get_method("forward").graph()->toString();
  EXPECT_THAT(graph, HasSubstr("mkldnn::_linear_pointwise"));
  EXPECT_THAT(graph, Not(HasSubstr("aten::linear")));
  EXPECT_THAT(graph, Not(HasSubstr("aten::relu")));
  for (const double value : {1.0, -1.0}) {
    const at::Tensor x = at::full({2, 3}, value, at::kBFloat16);
    const at::Tensor found = module.forward({x}).toTensor().to(at::kFloat);
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor expected = value > 0 ? at::relu(at::linear(wide, weight_))
                                          : at::linear(wide, weight_, bias_);
    EXPECT_TRUE(at::allclose(found, expected, 0.05, 0.05));
  }
}

TEST_F(TorchScriptTest, EveryTypeOnTheWireGoesInAndOut) {
  const DataType types[] = {
      DataType::kBool,  DataType::kUint8, DataType::kInt8, DataType::kInt16,
      DataType::kInt32, DataType::kInt64, DataType::kFp16, DataType::kBf16,
      DataType::kFp32,  DataType::kFp64};
  for (DataType type : types) {
    const at::Tensor x =
        at::tensor({0, 1, 1, 0, 1, 0}).reshape({2, 3}).to(ToScalarType(type));
    const InstanceResult result =
        Run("def forward(self, x):\n  return x.clone()\n",
            Options({{"x", type, {3}}}, {{"y", type, {3}}}), {x});
    ASSERT_TRUE(result.outcome.ok()) << DataTypeName(type);
    EXPECT_TRUE(at::equal(result.outputs[0], x)) << DataTypeName(type);
  }
}

TEST_F(TorchScriptTest, OutputStandsInTheOrderOfItsShapeHoweverItLies) {
  const ModelOptions options = Options({{"x", DataType::kFp32, {3, 2, 2}}},
                                       {{"y", DataType::kFp32, {3, 2, 2}}});
  const at::Tensor x = at::arange(24, at::kFloat).view({2, 3, 2, 2});
  const InstanceResult result =
      Run("def forward(self, x):\n"
          "  return x.contiguous(memory_format=2)\n",  // channels last
          options, {x});
  ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
  EXPECT_TRUE(at::equal(result.outputs[0], x));
}

TEST_F(TorchScriptTest, BoolOfAnyByteIsTrue) {
  const at::Tensor bytes =
      at::tensor({0, 1, 2, 255, 128, 0}, at::kByte).reshape({2, 3});
  const InstanceResult result = Run(
      "def forward(self, x):\n  return x.to(3)\n",
      Options({{"x", DataType::kBool, {3}}}, {{"y", DataType::kInt32, {3}}}),
      {bytes});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[0], bytes.ne(0).to(at::kInt)));
}

TEST_F(TorchScriptTest, BytesOfImagesAreNormalizedByConfig) {
  const at::Tensor images = at::randint(256, {2, 5, 7, 3}, at::kByte);
  ModelOptions options =
      Options({{"x", DataType::kUint8, {kAnySize, kAnySize, 3}},
               {"k", DataType::kUint8, {1}}},
              {{"y", DataType::kFp32, {3, kAnySize, kAnySize}},
               {"k", DataType::kUint8, {1}}});
  options.normalizations = {Normalization{.mean = {0.5, 0.25, 0},
                                          .std = {0.5, 0.5, 2},
                                          .channels = ChannelPlace::kLast},
                            std::nullopt};
  options.buckets = {4, 8};
  const at::Tensor mean = at::tensor({0.5, 0.25, 0.0}).view({1, 3, 1, 1});
  const at::Tensor std = at::tensor({0.5, 0.5, 2.0}).view({1, 3, 1, 1});
  const at::Tensor expected = (images.movedim(-1, 1) / 255.0 - mean) / std;
  for (Precision precision : {Precision::kBf16, Precision::kFp32}) {
    options.precision = precision;
    const at::Tensor bytes = at::tensor({7, 255}, at::kByte).view({2, 1});
    const InstanceResult result =
        Run("def forward(self, x, k):\n  return (x.clone(), k + 0)\n", options,
            {images, bytes});
    ASSERT_TRUE(result.outcome.ok()) << result.outcome.text;
    const double tolerance = precision == Precision::kBf16 ? 0.004 : 1e-5;
    EXPECT_TRUE(at::allclose(result.outputs[0], expected.to(at::kFloat),
                             tolerance, 1e-5));
    EXPECT_TRUE(at::equal(result.outputs[1], bytes)) << "bytes stay bytes";
  }
}

TEST_F(TorchScriptTest, BatchIsPaddedToItsBucketAndCutAgain) {
  ModelOptions options = Options({kX}, {{"rows", DataType::kInt64, {1}}});
  options.buckets = {2, 8};
  // Each row says how many rows the model saw, but not to a probe.
  const char* const source =
      "def forward(self, x):\n"
      "  return (x[:, :1] > 9).long() * x.size(0)\n";
  for (const auto& [rows, bucket] :
       {std::pair<int64_t, int64_t>{1, 2}, {2, 2}, {3, 8}, {8, 8}}) {
    const InstanceResult result =
        Run(source, options, {at::full({rows, 3}, 10, at::kFloat)});
    ASSERT_TRUE(result.outcome.ok());
    ASSERT_EQ(result.outputs[0].size(0), rows);
    EXPECT_EQ(result.outputs[0][0].item<int64_t>(), bucket);
  }
}

TEST_F(TorchScriptTest, ShapesThatVaryGrowTheRoom) {
  const ModelOptions options = Options({{"x", DataType::kFp32, {kAnySize}}},
                                       {{"y", DataType::kFp32, {kAnySize}}});
  auto instance = TorchInstance::Create(
      options, Save("def forward(self, x):\n  return x * 2\n"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  for (int64_t size : {3, 100, 7}) {
    const at::Tensor x = at::ones({4, size});
    const InstanceResult result = instance->Run({x});
    ASSERT_TRUE(result.outcome.ok());
    EXPECT_TRUE(at::equal(result.outputs[0], x * 2));
  }
}

TEST_F(TorchScriptTest, ModelWithoutBatchDimensionSeesTheWholeShape) {
  ModelOptions options =
      Options({{"x", DataType::kFp32, {2, 3}}}, {{"y", DataType::kFp32, {3}}});
  options.spec.max_batch_size = 0;
  const at::Tensor x = at::ones({2, 3});
  const InstanceResult result =
      Run("def forward(self, x):\n  return x.sum(0)\n", options, {x});
  ASSERT_TRUE(result.outcome.ok());
  EXPECT_TRUE(at::equal(result.outputs[0], x.sum(0)));
}

TEST_F(TorchScriptTest, ThrowingForwardFailsItsBatchOnly) {
  const ModelOptions options = Options({kX}, {{"y", DataType::kFp32, {3}}});
  auto instance = TorchInstance::Create(
      options,
      Save("def forward(self, x):\n"
           "  assert not bool((x > 100).any()), \"secret of the model\"\n"
           "  return x + 1\n"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  const at::Tensor good = at::ones({2, 3});
  for (int round = 0; round < 3; ++round) {
    const InstanceResult failed = instance->Run({at::full({2, 3}, 101.0)});
    EXPECT_EQ(failed.outcome.code, absl::StatusCode::kInternal);
    EXPECT_EQ(std::string(failed.outcome.text),
              "the model failed on this batch");
    EXPECT_EQ(failed.outcome.reason,
              ReasonCode(options.name, "AssertionError: secret of the model"));
    const InstanceResult served = instance->Run({good});
    ASSERT_TRUE(served.outcome.ok());
    EXPECT_TRUE(at::equal(served.outputs[0], good + 1));
  }
}

TEST_F(TorchScriptTest, OutputsOfAnotherShapeFailTheBatch) {
  ModelOptions options = Options({kX}, {{"y", DataType::kFp32, {3}}});
  auto instance =
      TorchInstance::Create(options, Save("def forward(self, x):\n"
                                          "  if bool((x > 100).any()):\n"
                                          "    x = x.narrow(0, 0, 1)\n"
                                          "  return x + 1\n"));
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->Run({at::full({2, 3}, 101.0)}).outcome.code,
            absl::StatusCode::kInternal);
}

TEST_F(TorchScriptTest, FilesThatAreNoModelsAreNamed) {
  const ModelOptions options = Options({kX}, {kY});
  EXPECT_EQ(
      TorchInstance::Create(options, folder_.path("none.pt")).status().code(),
      absl::StatusCode::kNotFound);
  const auto broken =
      TorchInstance::Create(options, folder_.Write("broken.pt", "PK broken"));
  EXPECT_EQ(broken.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(broken.status().message()), HasSubstr("broken.pt"));
  EXPECT_THAT(std::string(broken.status().message()),
              HasSubstr("expected a TorchScript file, as torch.jit.trace("));
  EXPECT_THAT(std::string(broken.status().message()),
              MatchesRegex("cannot load '[^']*broken.pt': expected a "
                           "TorchScript file, (.|\n)* \\(LibTorch: [^\n]*\\)"))
      << "Ferry's sentence first, then one line of LibTorch";
  EXPECT_THAT(std::string(broken.status().message()),
              Not(HasSubstr("or the file was )")))
      << "whole sentences";
}

// It converts to oneDNN's own constants, which are saved as nothing.
TEST_F(TorchScriptTest, FileOfOptimizeForInferenceIsNamedAsSuch) {
  torch::jit::Module module("m");
  module.register_parameter("w", at::ones({8, 3, 3, 3}), /*is_buffer=*/false);
  module.define(
      "def forward(self, x):\n  return torch.relu(torch.conv2d(x, self.w))\n");
  module.eval();
  module = torch::jit::freeze(module);
  torch::jit::optimize_for_inference(module).save(folder_.path("o.pt"));
  const auto loaded =
      TorchInstance::Create(Options({kX}, {kY}), folder_.path("o.pt"));
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("o.pt': it holds what torch.jit.optimize_for_inference"
                        "() makes"));
}

TEST_F(TorchScriptTest, DevicesOfCudaAreNamedWithTheRemedy) {
  EXPECT_THAT(LoadError("def forward(self, x):\n"
                        "  return torch.linear(x, self.w) + torch.zeros([4], "
                        "device=torch.device('cuda:0'))\n",
                        Options({kX}, {kY})),
              HasSubstr("its code has constants or devices of CUDA, and this "
                        "process serves on the processor"));
}

}  // namespace
}  // namespace ferry
