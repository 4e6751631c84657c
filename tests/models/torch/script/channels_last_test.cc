// Tests which TorchScript modules are given images with the channels last, why
// others are not, and that what they give is the same.
#include "models/torch/script/channels_last.h"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "models/torch/script/torch_script.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

// Images of 3 channels, 6 x 5, to 4 channels.
constexpr char kConvolution[] =
    "def forward(self, x):\n"
    "  return torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n";
const TensorSpec kImage = {"x", DataType::kFp32, {3, 6, 5}};
const TensorSpec kMap = {"y", DataType::kFp32, {4, 6, 5}};

class ChannelsLastTest : public ScriptTest {
 protected:
  torch::jit::Module Define(const std::string& source,
                            at::ScalarType type = at::kBFloat16) {
    torch::jit::Module module("m");
    at::manual_seed(3);
    module.register_parameter("w", at::randn({4, 3, 3, 3}).to(type), false);
    module.register_parameter("b", at::randn({4}).to(type), false);
    module.register_buffer("n", at::zeros({1}, type));
    module.define(source);
    module.eval();
    return module;
  }

  torch::jit::Module Frozen(const std::string& source,
                            at::ScalarType type = at::kBFloat16) {
    return torch::jit::freeze(Define(source, type));
  }

  std::string WhyNot(const std::string& source, TensorSpec input = kImage) {
    return WhyNotChannelsLast(Frozen(source),
                              Options({std::move(input)}, {kMap}).spec);
  }

  std::unique_ptr<Network> Load(const std::string& source, ScriptLayout layout,
                                const ModelOptions& options) {
    const std::string path = folder_.path("model.pt");
    Define(source, at::kFloat).save(path);
    ModelOptions completed = options;
    LoadReport report;
    auto network = LoadTorchScript(
        path, completed, {.device = at::kCPU, .layout = layout}, report);
    EXPECT_TRUE(network.ok()) << network.status();
    return network.ok() ? *std::move(network) : nullptr;
  }

  static at::Tensor Output(Network& network, const at::Tensor& x) {
    const c10::InferenceMode no_gradients;
    Values outputs;
    EXPECT_TRUE(network.Forward({x}, outputs).ok());
    return outputs.empty() ? at::Tensor() : outputs[0].toTensor();
  }

  // Loads it both ways; expects what it gives to be the same of both, in the
  // order of its shape. Returns whether it is given channels last.
  bool IsChannelsLast(const std::string& source, const ModelOptions& options) {
    const auto network = Load(source, ScriptLayout::kChannelsLast, options);
    const auto plain = Load(source, ScriptLayout::kChannelsFirst, options);
    EXPECT_FALSE(plain->takes_channels_last(0));
    at::manual_seed(5);
    for (const int64_t rows : {1, 2, 3}) {
      const at::Tensor x =
          at::randn({rows, 3, 6, 5}).to(ToScalarType(options.precision));
      const at::Tensor expected = Output(*plain, x);
      // A device lays them out as the network takes them, or not.
      const bool is_last = network->takes_channels_last(0);
      for (const at::Tensor& given : {x, is_last ? x.contiguous(kLast) : x}) {
        const at::Tensor found = Output(*network, given);
        EXPECT_TRUE(found.is_contiguous());
        EXPECT_EQ(found.sizes(), expected.sizes());
        EXPECT_TRUE(at::allclose(found, expected, 0.05, 0.05)) << rows;
      }
    }
    return network->takes_channels_last(0);
  }
};

TEST_F(ChannelsLastTest, ConvolutionIsGivenThemAndGivesTheSame) {
  EXPECT_TRUE(IsChannelsLast(kConvolution, Options({kImage}, {kMap})));
}

// flatten() copies [rows, 4, 6, 5] with channels last, else gives its input.
TEST_F(ChannelsLastTest, WritesToWhatIsCopiedByItsStridesAreNoneOfThem) {
  const std::string flat =
      "def forward(self, x):\n"
      "  y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n";
  const ModelOptions options = Options({kImage}, {kMap});
  EXPECT_FALSE(IsChannelsLast(flat + "  f = y.flatten(1)\n"
                                     "  f[:, :3].clamp_(0, 6)\n"
                                     "  return y\n",
                              options));
  EXPECT_FALSE(IsChannelsLast(flat + "  f = y.flatten(1)\n"
                                     "  y.relu_()\n"
                                     "  return f.reshape(y.size())\n",
                              options));
  EXPECT_TRUE(IsChannelsLast(flat + "  y.relu_()\n"
                                    "  return y.flatten(1).reshape(y.size())\n",
                             options))
      << "before it both layouts write alike";
}

TEST_F(ChannelsLastTest, NotOfWhatTakesStrings) {
  const std::string source =
      "def forward(self, x, texts: List[str]):\n"
      "  y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n"
      "  return y + len(texts)\n";
  const auto network =
      Load(source, ScriptLayout::kChannelsLast,
           Options({kImage, {"texts", DataType::kBytes, {1}}}, {kMap}));
  ASSERT_NE(network, nullptr);
  EXPECT_FALSE(network->takes_channels_last(0));
}

TEST_F(ChannelsLastTest, NotWhereTheConfigTurnsThemOff) {
  ModelOptions options = Options({kImage}, {kMap});
  options.use_channels_last = false;
  EXPECT_FALSE(IsChannelsLast(kConvolution, options));
}

TEST_F(ChannelsLastTest, OfADictToo) {
  const ModelOptions options = Options({kImage}, {kMap});
  EXPECT_TRUE(IsChannelsLast(
      "def forward(self, all: Dict[str, Tensor]):\n"
      "  return torch.conv2d(all['x'], self.w, self.b, [1, 1], [1, 1])\n",
      options));
}

TEST_F(ChannelsLastTest, ImagesOfAnySizeAreTried) {
  EXPECT_TRUE(IsChannelsLast(
      kConvolution,
      Options({{"x", DataType::kFp32, {3, kAnySize, kAnySize}}},
              {{"y", DataType::kFp32, {4, kAnySize, kAnySize}}})));
}

// view() of [rows, 4, 6, 5] with channels last throws, of [rows, 4, 1, 1] not.
TEST_F(ChannelsLastTest, ViewThatThrowsIsFoundByTheProbe) {
  const std::string flat =
      "def forward(self, x):\n"
      "  y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n";
  const ModelOptions options =
      Options({kImage}, {{"y", DataType::kFp32, {120}}});
  EXPECT_FALSE(IsChannelsLast(flat + "  return y.view([-1, 120])\n", options));
  EXPECT_TRUE(
      IsChannelsLast(flat + "  return y.reshape([-1, 120])\n", options));
  EXPECT_TRUE(IsChannelsLast(flat +
                                 "  y = torch.adaptive_avg_pool2d(y, [1, 1])\n"
                                 "  return y.view([-1, 4])\n",
                             Options({kImage}, {{"y", DataType::kFp32, {4}}})));
}

// Rows and channels are one dimension then: of one row that is no matter.
TEST_F(ChannelsLastTest, ViewThatThrowsOfTwoRowsIsFound) {
  EXPECT_FALSE(
      IsChannelsLast("def forward(self, x):\n"
                     "  y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n"
                     "  return y.view([-1, 6, 5]).reshape([-1, 120])\n",
                     Options({kImage}, {{"y", DataType::kFp32, {120}}})));
}

// The probe's rows lie as a device lays them out.
TEST_F(ChannelsLastTest, ViewThatThrowsOfTheInputIsFound) {
  EXPECT_FALSE(IsChannelsLast(
      "def forward(self, x):\n"
      "  y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n"
      "  return y.flatten(1) + x.view([-1, 90]).mean(1).reshape([-1, 1])\n",
      Options({kImage}, {{"y", DataType::kFp32, {120}}})));
}

TEST_F(ChannelsLastTest, Fp32AndWhatIsNoImageAreLeftAsTheyAre) {
  ModelOptions options = Options({kImage}, {kMap});
  options.precision = Precision::kFp32;
  EXPECT_FALSE(IsChannelsLast(kConvolution, options));

  const auto network = Load(
      "def forward(self, x):\n"
      "  y = torch.conv2d(x.reshape([-1, 3, 6, 5]), self.w, self.b, [1, 1], "
      "[1, 1])\n"
      "  return y.flatten(1)\n",
      ScriptLayout::kChannelsLast,
      Options({{"x", DataType::kFp32, {90}}}, {{"y", DataType::kFp32, {120}}}));
  EXPECT_FALSE(network->takes_channels_last(0));
}

TEST_F(ChannelsLastTest, InputsOfImagesAreThoseOfFloatsAndFourDims) {
  ModelOptions options = Options({kImage,
                                  {"bytes", DataType::kUint8, {3, 6, 5}},
                                  {"normalized", DataType::kUint8, {6, 5, 3}},
                                  {"flat", DataType::kFp32, {90}},
                                  {"row", DataType::kFp32, {3, 6}}},
                                 {});
  options.normalizations = {std::nullopt, std::nullopt,
                            Normalization{.channels = ChannelPlace::kLast},
                            std::nullopt, std::nullopt};
  options.input_reshapes = {std::nullopt, std::nullopt, std::nullopt,
                            std::vector<int64_t>{3, 6, 5}, std::nullopt};
  EXPECT_THAT(ImageInputs(options),
              ElementsAre(true, false, true, true, false));
  options = Options({{"x", DataType::kFp32, {2, 3, 6, 5}}, kImage}, {});
  options.spec.max_batch_size = 0;
  EXPECT_THAT(ImageInputs(options), ElementsAre(true, false));
}

TEST_F(ChannelsLastTest, WeightsAreLaidOutInACopy) {
  const torch::jit::Module module = Frozen(kConvolution);
  ASSERT_TRUE(ConvolvesIn16Bits(module));
  EXPECT_FALSE(ConvolvesIn16Bits(Frozen(kConvolution, at::kFloat)));
  const auto weight = [](const torch::jit::Module& of) {
    at::Tensor found;
    for (torch::jit::Node* node :
         of.get_method("forward").graph()->block()->nodes()) {
      if (node->kind() == c10::Symbol::fromQualString("aten::conv2d")) {
        found = torch::jit::toIValue(node->input(1))->toTensor();
      }
    }
    return found;
  };
  const torch::jit::Module copy = WithChannelsLast(module);
  EXPECT_TRUE(weight(copy).is_contiguous(kLast));
  EXPECT_FALSE(weight(module).is_contiguous(kLast));
  EXPECT_TRUE(at::equal(weight(copy), weight(module)));
}

// --- why not, by the code ----------------------------------------------------

TEST_F(ChannelsLastTest, WhatAsksForStridesIsNamed) {
  EXPECT_THAT(WhyNot(kConvolution), IsEmpty());
  EXPECT_THAT(WhyNot("def forward(self, x):\n"
                     "  y = torch.conv2d(x, self.w, self.b)\n"
                     "  return torch.as_strided(y, [2], [1])\n"),
              HasSubstr("aten::as_strided, which asks for strides"));
  EXPECT_THAT(
      WhyNot("def forward(self, x):\n"
             "  return torch.conv2d(x, self.w, self.b) * x.stride(1)\n"),
      HasSubstr("aten::stride, which asks for strides"));
}

TEST_F(ChannelsLastTest, ViewThatAProbeMayNotReachIsNamed) {
  const std::string branch =
      "def forward(self, x):\n"
      "  y = torch.conv2d(x, self.w, self.b)\n"
      "  if bool(y.sum() > 0):\n"
      "    y = y.";
  EXPECT_THAT(WhyNot(branch + "view([-1, 48])\n  return y\n"),
              AllOf(HasSubstr("aten::view in a branch or a loop"),
                    HasSubstr("flatten() and reshape() suit")));
  EXPECT_THAT(WhyNot(branch + "reshape([-1, 48])\n  return y\n"), IsEmpty());
  const std::string view =
      "def forward(self, x):\n"
      "  return torch.conv2d(x, self.w, self.b).view([-1, 48])\n";
  EXPECT_THAT(WhyNot(view), IsEmpty());
  EXPECT_THAT(WhyNot(view, {"x", DataType::kFp32, {3, kAnySize, 5}}),
              HasSubstr("takes inputs of any size"));
}

TEST_F(ChannelsLastTest, WhatKeepsStateIsNotTried) {
  EXPECT_THAT(WhyNot("def forward(self, x):\n"
                     "  self.n.add_(1)\n"
                     "  return torch.conv2d(x, self.w, self.b) + self.n\n"),
              HasSubstr("writes to its own tensors"));
}

TEST_F(ChannelsLastTest, WhatIsForeignIsNamed) {
  const torch::jit::Module module = Frozen(kConvolution);
  const auto graph = module.get_method("forward").graph();
  torch::jit::Node* const foreign = graph->create(
      c10::Symbol::fromQualString("other::op"), {graph->outputs()[0]}, 1);
  graph->appendNode(foreign);
  EXPECT_THAT(WhyNotChannelsLast(module, Options({kImage}, {kMap}).spec),
              HasSubstr("it calls other::op"));
}

}  // namespace
}  // namespace ferry
