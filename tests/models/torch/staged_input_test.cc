// Tests that StagedInput pads rows that are smaller than those of their batch.
#include "models/torch/staged_input.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

namespace ferry {
namespace {

// One request of rows of `own` dims, padded to others.
struct Rows {
  Rows(const at::Tensor& rows, std::vector<int64_t> padded)
      : tensor(rows.contiguous()),
        dims(tensor.sizes().begin() + 1, tensor.sizes().end()),
        padded_dims(std::move(padded)),
        segment{static_cast<const std::byte*>(tensor.data_ptr()),
                tensor.nbytes()},
        view{.dims = dims,
             .segments = {&segment, 1},
             .padded_dims = padded_dims} {
    request.inputs = {&view, 1};
    request.rows = static_cast<int32_t>(tensor.size(0));
  }

  const at::Tensor tensor;
  const std::vector<int64_t> dims;
  const std::vector<int64_t> padded_dims;
  const ferry::ByteSegment segment;
  const TensorView view;
  InferRequest request;
};

class StagedInputTest : public ::testing::Test {
 protected:
  // Makes an input of those dims that is padded, in batches of 8 rows at most.
  void Make(DataType type, std::vector<int64_t> dims) {
    options_.spec.inputs = {{"x", type, std::move(dims)}};
    options_.spec.inputs[0].pads = {4, 8};
    options_.spec.max_batch_size = 8;
    staged_ = std::make_unique<StagedInput>(options_, 0, std::nullopt);
  }

  // What the network sees of a batch of those rows in so many.
  at::Tensor Stage(const std::vector<at::Tensor>& requests,
                   const std::vector<int64_t>& padded, int32_t padded_rows) {
    Batch batch(8, 8);
    std::deque<Rows> rows;
    for (const at::Tensor& tensor : requests) {
      batch.Add(rows.emplace_back(tensor, padded).request);
    }
    return staged_->Stage(batch, padded_rows).toTensor().clone();
  }

  // The same, by LibTorch.
  static at::Tensor Expected(const std::vector<at::Tensor>& requests,
                             int64_t padded, int64_t padded_rows) {
    std::vector<at::Tensor> rows;
    for (const at::Tensor& tensor : requests) {
      rows.push_back(
          at::constant_pad_nd(tensor, {0, padded - tensor.size(-1)}));
    }
    const at::Tensor all = at::cat(rows);
    std::vector<int64_t> pad(static_cast<size_t>(2 * all.dim()), 0);
    pad.back() = padded_rows - all.size(0);
    return at::constant_pad_nd(all, pad);
  }

  ModelOptions options_;
  std::unique_ptr<StagedInput> staged_;
};

TEST_F(StagedInputTest, IntegersArePaddedWithZerosUpToTheBucket) {
  Make(DataType::kInt64, {kAnySize});
  const std::vector<at::Tensor> rows = {at::arange(1, 7).view({2, 3}),
                                        at::arange(10, 14).view({1, 4}),
                                        at::ones({1, 1}, at::kLong)};
  EXPECT_TRUE(at::equal(Stage(rows, {4}, 6), Expected(rows, 4, 6)));
}

TEST_F(StagedInputTest, FloatsAreCastWithTheirPadding) {
  Make(DataType::kFp32, {2, kAnySize});
  const std::vector<at::Tensor> rows = {at::randn({2, 2, 3}),
                                        at::randn({1, 2, 7})};
  const at::Tensor staged = Stage(rows, {2, 8}, 4);
  EXPECT_EQ(staged.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(staged, Expected(rows, 8, 4).to(at::kBFloat16)));
}

TEST_F(StagedInputTest, BoolsThatAreNotOneStayTrue) {
  Make(DataType::kBool, {kAnySize});
  const at::Tensor bytes = at::full({1, 3}, 2, at::kByte);
  const at::Tensor staged = Stage({bytes}, {4}, 1);
  EXPECT_EQ(staged.scalar_type(), at::kBool);
  EXPECT_TRUE(
      at::equal(staged, at::tensor({1, 1, 1, 0}).view({1, 4}).to(at::kBool)));
}

TEST_F(StagedInputTest, NothingOfALargerBatchIsLeft) {
  for (const DataType type : {DataType::kInt64, DataType::kFp32}) {
    Make(type, {kAnySize});
    const at::Tensor ones = type == DataType::kInt64
                                ? at::ones({8, 8}, at::kLong)
                                : at::ones({8, 8});
    Stage({ones}, {8}, 8);  // as it came
    const std::vector<at::Tensor> rows = {ones.narrow(0, 0, 2).narrow(1, 0, 1)};
    const at::Tensor staged = Stage(rows, {4}, 4);
    EXPECT_TRUE(
        at::equal(staged.to(at::kFloat), Expected(rows, 4, 4).to(at::kFloat)));
    EXPECT_TRUE(
        at::equal(Stage({ones}, {8}, 8).to(at::kFloat), at::ones({8, 8})));
  }
}

}  // namespace
}  // namespace ferry
