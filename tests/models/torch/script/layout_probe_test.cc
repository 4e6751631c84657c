// Tests which networks CompareLayouts finds alike in two layouts, and why not.
#include "models/torch/script/layout_probe.h"

#include <ATen/Functions.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "gmock/gmock.h"
#include "tests/models/torch/script/script_test.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kLast = at::MemoryFormat::ChannelsLast;
const TensorSpec kImage = {"x", DataType::kFp32, {3, 6, 5}};
const TensorSpec kMap = {"y", DataType::kFp32, {4, 6, 5}};

class Given final : public Network {
 public:
  using Script = std::function<at::Tensor(const at::Tensor&)>;  // of one
  using ScriptOfAll = std::function<at::Tensor(const Values&)>;

  explicit Given(ScriptOfAll script) : script_(std::move(script)) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    outputs.emplace_back(script_(inputs));
    return absl::OkStatus();
  }

 private:
  const ScriptOfAll script_;
};

std::string Compare(Given::Script plain, Given::Script laid_out,
                    const TensorSpec& input = kImage) {
  ModelOptions options;
  options.spec = {{input}, {kMap}, 8};
  const auto of_first = [](Given::Script script) {
    return [script = std::move(script)](const Values& inputs) {
      return script(inputs[0].toTensor());
    };
  };
  Given first(of_first(std::move(plain)));
  Given second(of_first(std::move(laid_out)));
  return CompareLayouts(first, second, options, at::kCPU);
}

at::Tensor Same(const at::Tensor& x) { return x; }

TEST(LayoutProbeTest, SameValuesAreFoundInAnyOrderOfMemory) {
  EXPECT_THAT(
      Compare(Same,
              [](const at::Tensor& x) { return x.contiguous(kLast) * 1.01; }),
      IsEmpty());
}

TEST(LayoutProbeTest, OtherValuesAreFound) {
  EXPECT_THAT(Compare(Same, [](const at::Tensor& x) { return x * 1.1; }),
              HasSubstr("a probe forward with it gives other values"));
  EXPECT_THAT(
      Compare(
          Same,
          [](const at::Tensor& x) {  // as it lies in memory
            return x.contiguous(kLast).permute({0, 2, 3, 1}).reshape(x.sizes());
          }),
      HasSubstr("gives other values"));
  EXPECT_THAT(Compare(Same, [](const at::Tensor& x) { return x * NAN; }),
              HasSubstr("gives other values"));
}

// In a batch of more than one row alone.
TEST(LayoutProbeTest, RowsThatAreMixedUpAreFound) {
  EXPECT_THAT(Compare(Same, [](const at::Tensor& x) { return x.flip(0); }),
              HasSubstr("gives other values"));
}

TEST(LayoutProbeTest, InfinitiesAreNoDifferenceOfTheirOwn) {
  const auto masked = [](const at::Tensor& x) {
    return x.masked_fill(x.gt(0.5), -std::numeric_limits<float>::infinity());
  };
  EXPECT_THAT(Compare(masked, masked), IsEmpty());
  EXPECT_THAT(Compare(masked, Same), HasSubstr("gives other values"));
}

TEST(LayoutProbeTest, OtherShapesAndTypesAreFound) {
  EXPECT_THAT(Compare(Same, [](const at::Tensor& x) { return x.sum(1); }),
              HasSubstr("another shape or type"));
  EXPECT_THAT(
      Compare(Same, [](const at::Tensor& x) { return x.to(at::kDouble); }),
      HasSubstr("another shape or type"));
}

TEST(LayoutProbeTest, WhatThrowsWithItAloneIsSaid) {
  const auto throws = [](const at::Tensor&) -> at::Tensor {
    throw std::runtime_error("view size is not compatible");
  };
  EXPECT_THAT(Compare(Same, throws),
              HasSubstr("with it fails, view size is not compatible"));
  EXPECT_THAT(Compare(throws, Same),
              HasSubstr("a probe forward fails, with it or without: view"));
}

// The first of some sizes that it takes.
TEST(LayoutProbeTest, SizesThatVaryAreTriedUntilOneRuns) {
  std::vector<int64_t> tried;
  const auto takes = [&](const at::Tensor& x) {
    tried.push_back(x.size(2));
    TORCH_CHECK(x.size(2) == 224, "no");
    return x;
  };
  EXPECT_THAT(Compare(takes, Same, {"x", DataType::kFp32, {3, kAnySize, 5}}),
              IsEmpty());
  EXPECT_THAT(tried, ElementsAre(64, 224, 224));
}

// A batch whose requests leave the mask out has it so: ones of the size of what
// it follows.
TEST(LayoutProbeTest, MaskIsGiven) {
  ModelOptions options;
  TensorSpec mask = {"mask", DataType::kFp32, {kAnySize}};
  mask.is_mask = mask.is_optional = true;
  mask.follows = 0;
  options.spec = {{{"x", DataType::kFp32, {3, kAnySize}}, mask}, {kMap}, 8};
  std::vector<at::Tensor> given;
  const auto take = [&](const Values& inputs) {
    given.push_back(inputs[1].toTensor());
    return inputs[0].toTensor() * given.back().unsqueeze(1);
  };
  Given plain(take);
  Given laid_out(take);
  EXPECT_THAT(CompareLayouts(plain, laid_out, options, at::kCPU), IsEmpty());
  ASSERT_EQ(given.size(), 4);
  EXPECT_TRUE(given[0].equal(at::ones({1, 64}, at::kBFloat16)));
  EXPECT_TRUE(given[3].equal(at::ones({2, 64}, at::kBFloat16)));
}

// Not those of which a row would be millions of elements.
TEST(LayoutProbeTest, SizesThatVaryInManyDimsAreTriedSmall) {
  std::vector<int64_t> tried;
  const auto takes = [&](const at::Tensor& x) {
    tried.push_back(x.size(1));
    return x;
  };
  EXPECT_THAT(
      Compare(takes, Same,
              {"x", DataType::kFp32, {kAnySize, kAnySize, kAnySize, 9}}),
      IsEmpty());
  EXPECT_THAT(tried, ElementsAre(64, 64));
  EXPECT_THAT(
      Compare(takes, Same,
              {"x", DataType::kFp32, {kAnySize, kAnySize, kAnySize, 1000}}),
      HasSubstr("fails, with it or without: its inputs are too large"));
}

}  // namespace
}  // namespace ferry
