// Tests BrgemmLinear against a plain linear layer in fp32 on the same weights.
#include "models/torch/networks/brgemm_linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace ferry {
namespace {

class BrgemmLinearTest : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(3);
    at::set_num_threads(1);
    if (!BrgemmLinear::Suits(at::zeros({16, 16}, at::kBFloat16))) {
      GTEST_SKIP() << "this processor lacks the kernel";
    }
  }
};

at::Tensor Random(at::IntArrayRef sizes) {
  return at::randn(sizes).to(at::kBFloat16);
}

// Both round to bf16 once: by a part in 256, of what was summed up.
void ExpectNear(const at::Tensor& found, const at::Tensor& expected) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  ASSERT_EQ(found.scalar_type(), at::kBFloat16);
  const double scale = expected.abs().max().item<double>() + 1e-6;
  EXPECT_LT((found.to(at::kFloat) - expected).abs().max().item<double>(),
            scale / 128);
}

TEST_F(BrgemmLinearTest, IsTheLinearLayerForEverySizeOfPanelAndTile) {
  for (int64_t inputs : {2, 30, 64, 256}) {
    for (int64_t outputs : {1, 10, 16, 33, 64, 100, 512}) {
      const at::Tensor weight = Random({outputs, inputs});
      const at::Tensor bias = at::randn({outputs});
      const BrgemmLinear layer(weight, bias);
      for (int64_t rows : {1, 3, 31, 32, 33, 128}) {
        SCOPED_TRACE(testing::Message()
                     << rows << " rows, " << inputs << " to " << outputs);
        const at::Tensor x = Random({rows, inputs});
        ASSERT_TRUE(layer.Takes(x));
        const at::Tensor expected =
            at::linear(x.to(at::kFloat), weight.to(at::kFloat), bias);
        ExpectNear(layer.Run(x, false), expected);
        ExpectNear(layer.Run(x, true), at::relu(expected));
      }
    }
  }
}

TEST_F(BrgemmLinearTest, BiasIsOptionalAndLeadingDimsAreKept) {
  const at::Tensor weight = Random({24, 8});
  const BrgemmLinear layer(weight, at::Tensor());
  const std::vector<std::vector<int64_t>> shapes = {{2, 3, 8}, {8}};
  for (const std::vector<int64_t>& sizes : shapes) {
    const at::Tensor x = Random(sizes);
    ExpectNear(layer.Run(x, false),
               at::linear(x.to(at::kFloat), weight.to(at::kFloat)));
  }
}

TEST_F(BrgemmLinearTest, LeavesWhatThreadsShareToAnOperator) {
  const BrgemmLinear layer(Random({512, 256}), at::Tensor());
  EXPECT_TRUE(layer.Takes(Random({128, 256})));
  at::set_num_threads(2);
  EXPECT_TRUE(layer.Takes(Random({16, 256})));
  EXPECT_FALSE(layer.Takes(Random({17, 256})));
  at::set_num_threads(1);
}

TEST_F(BrgemmLinearTest, NaNAndInfinityComeThrough) {
  const BrgemmLinear layer(at::ones({16, 2}, at::kBFloat16), at::Tensor());
  at::Tensor x = at::ones({3, 2}, at::kBFloat16);
  x[0][0] = std::numeric_limits<float>::quiet_NaN();
  x[1][0] = std::numeric_limits<float>::infinity();
  const at::Tensor y = layer.Run(x, true).to(at::kFloat);
  EXPECT_TRUE(y[0].isnan().all().item<bool>());
  EXPECT_TRUE(y[1].isinf().all().item<bool>());
  EXPECT_TRUE(y[2].eq(2).all().item<bool>()) << "rows are their own";
}

TEST_F(BrgemmLinearTest, RefusesWhatItsKernelDoesNotRead) {
  EXPECT_FALSE(BrgemmLinear::Suits(at::zeros({16, 15}, at::kBFloat16)))
      << "the kernel takes inputs in pairs";
  EXPECT_FALSE(BrgemmLinear::Suits(at::zeros({1024, 1024}, at::kBFloat16)))
      << "an operator is faster";
  const BrgemmLinear layer(Random({16, 8}), at::Tensor());
  EXPECT_FALSE(layer.Takes(at::zeros({2, 8})));
  EXPECT_FALSE(layer.Takes(Random({4, 4})));
  EXPECT_FALSE(layer.Takes(Random({8, 8}).t()));
  EXPECT_FALSE(layer.Takes(Random({BrgemmLinear::kMaxRows + 1, 8})));
  EXPECT_TRUE(layer.Takes(Random({BrgemmLinear::kMaxRows, 8})));
}

}  // namespace
}  // namespace ferry
