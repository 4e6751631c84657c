// Tests that CopyCutRows gives rows of the sizes that the requests brought.
#include "models/torch/cut_rows.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "tensor/host_output_pool.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// Requests of 2 rows of 1, and of 1 row of 3, padded to 4.
class CutRowsTest : public ::testing::Test {
 protected:
  CutRowsTest() {
    for (size_t i = 0; i < 2; ++i) {
      requests_[i].inputs = {&views_[i], 1};
      requests_[i].rows = i == 0 ? 2 : 1;
      batch_.Add(requests_[i]);
    }
  }

  // What is copied of `padded`, as an output of those dims.
  std::vector<float> Cut(std::vector<int64_t> dims, const at::Tensor& padded) {
    ModelSpec spec = {.inputs = {{"i", DataType::kInt64, {kAnySize}}},
                      .outputs = {{"o", DataType::kFp32, std::move(dims)}},
                      .max_batch_size = 4};
    spec.outputs[0].follows = 0;
    output_ = pool_.Take();
    CopyCutRows(batch_, spec, 0, padded, *output_.get());
    const OutputTensor& tensor = output_->tensors()[0];
    EXPECT_EQ(tensor.AnySize(0, sizeof(float)), 1);
    EXPECT_EQ(tensor.AnySize(2, sizeof(float)), 3);
    const ferry::ByteSegment all = tensor.Rows(0, 3);
    std::vector<float> values(all.size / sizeof(float));
    std::memcpy(values.data(), all.data, all.size);
    return values;
  }

  const std::array<int64_t, 1> sizes_[2] = {{1}, {3}};
  const std::array<int64_t, 1> padded_ = {4};
  const TensorView views_[2] = {
      {.dims = sizes_[0], .segments = {}, .padded_dims = padded_},
      {.dims = sizes_[1], .segments = {}, .padded_dims = padded_}};
  InferRequest requests_[2];
  Batch batch_{2, 3};
  HostOutputPool pool_{1, 1};
  OutputRef output_;
};

TEST_F(CutRowsTest, EndsOfRowsAndRowsOfTheBucketAreLeftOff) {
  EXPECT_THAT(Cut({kAnySize}, at::arange(16, at::kFloat).view({4, 4})),
              ElementsAre(0, 4, 8, 9, 10));
}

TEST_F(CutRowsTest, InnerDimensionsStayWhole) {
  EXPECT_THAT(Cut({kAnySize, 2}, at::arange(24, at::kFloat).view({3, 4, 2})),
              ElementsAre(0, 1, 8, 9, 16, 17, 18, 19, 20, 21));
}

TEST_F(CutRowsTest, EachChunkOfARowIsCut) {
  EXPECT_THAT(Cut({2, kAnySize}, at::arange(24, at::kFloat).view({3, 2, 4})),
              ElementsAre(0, 4, 8, 12, 16, 17, 18, 20, 21, 22));
}

TEST_F(CutRowsTest, StridedHalvesAreCast) {
  const at::Tensor transposed =
      at::arange(24, at::kBFloat16).view({3, 2, 4}).transpose(1, 2);
  EXPECT_THAT(Cut({kAnySize, 2}, transposed),
              ElementsAreArray({0, 4, 8, 12, 16, 20, 17, 21, 18, 22}));
}

}  // namespace
}  // namespace ferry
