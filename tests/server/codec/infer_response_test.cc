// Tests replies by reading them back with protobuf.
#include "server/codec/infer_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "proto/inference.pb.h"
#include "tensor/bytes_elements.h"
#include "tensor/host_output_pool.h"

namespace ferry {
namespace {

using inference::ModelInferResponse;

ModelInferResponse ReadBack(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  ModelInferResponse response;
  EXPECT_TRUE(response.ParseFromString(bytes));
  return response;
}

// A pool's buffer of 4 rows: 'small' INT8 [3], 'large' FP32 [600].
class InferResponseTest : public ::testing::Test {
 protected:
  InferResponseTest() : pool_(2, 4), output_(pool_.Take()) {
    for (size_t i = 0; i < 2; ++i) {
      HostOutputPool::Layout(*output_.get(), i, 4, spec_.outputs[i].type,
                             spec_.outputs[i].dims);
      const OutputTensor& tensor = output_->tensors()[i];
      for (size_t byte = 0; byte < 4 * tensor.row_bytes; ++byte) {
        tensor.data[byte] = static_cast<std::byte>(byte / tensor.row_bytes);
      }
    }
  }

  grpc::ByteBuffer Encode(const std::vector<size_t>& outputs, int32_t first,
                          int32_t count) {
    return EncodeInferResponse({.model_name = name_,
                                .model_version = version_,
                                .id = id_,
                                .spec = spec_,
                                .outputs = outputs,
                                .rows = {output_.get(), first, count}});
  }

  ModelSpec spec_ = {.inputs = {},
                     .outputs = {{"small", DataType::kInt8, {3}},
                                 {"large", DataType::kFp32, {600}}},
                     .max_batch_size = 4};
  std::string name_ = "model";
  std::string version_ = "2";
  std::string id_ = "request-7";
  HostOutputPool pool_;
  OutputRef output_;
};

TEST_F(InferResponseTest, EveryOutputHasItsRowsInOrder) {
  const ModelInferResponse response = ReadBack(Encode({0, 1}, 1, 2));
  EXPECT_EQ(response.model_name(), "model");
  EXPECT_EQ(response.model_version(), "2");
  EXPECT_EQ(response.id(), "request-7");
  ASSERT_EQ(response.outputs_size(), 2);
  ASSERT_EQ(response.raw_output_contents_size(), 2);
  EXPECT_EQ(response.outputs(0).name(), "small");
  EXPECT_EQ(response.outputs(0).datatype(), "INT8");
  EXPECT_EQ(response.outputs(0).shape_size(), 2);
  EXPECT_EQ(response.outputs(0).shape(0), 2);
  EXPECT_EQ(response.outputs(0).shape(1), 3);
  EXPECT_EQ(response.outputs(1).shape(1), 600);
  EXPECT_EQ(response.raw_output_contents(0), std::string("\1\1\1\2\2\2", 6));
  EXPECT_EQ(response.raw_output_contents(1),
            std::string(2400, '\1') + std::string(2400, '\2'));
}

TEST_F(InferResponseTest, RowsOfBytesAreThoseOfTheRequest) {
  spec_.outputs[0] = {"small", DataType::kBytes, {1}};
  // "a", "", "bcd" and "e".
  const std::string elements("\1\0\0\0a\0\0\0\0\3\0\0\0bcd\1\0\0\0e", 21);
  HostOutputPool::LayoutBytes(*output_.get(), 0, elements.size(), {1});
  OutputTensor& tensor = output_->mutable_tensors()[0];
  std::memcpy(tensor.data, elements.data(), elements.size());
  IndexBytesRows(4, elements.size(), tensor);
  const ModelInferResponse response = ReadBack(Encode({0, 1}, 1, 2));
  EXPECT_EQ(response.outputs(0).datatype(), "BYTES");
  EXPECT_EQ(response.outputs(0).shape(0), 2);
  EXPECT_EQ(response.outputs(0).shape(1), 1);
  EXPECT_EQ(response.raw_output_contents(0), elements.substr(5, 11));
}

TEST_F(InferResponseTest, OnlyRequestedOutputsAreSent) {
  const ModelInferResponse response = ReadBack(Encode({1}, 0, 1));
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).name(), "large");
  EXPECT_EQ(response.raw_output_contents(0), std::string(2400, '\0'));
}

TEST_F(InferResponseTest, LargeOutputIsReferencedUntilTheReplyIsGone) {
  std::byte* const memory = output_->tensors()[1].data;
  {
    const grpc::ByteBuffer reply = Encode({1}, 0, 4);
    output_ = OutputRef();  // the batch is over
    const OutputRef other = pool_.Take();
    EXPECT_NE(other.get(), nullptr);
    EXPECT_EQ(ReadBack(reply).raw_output_contents(0).substr(9597),
              std::string(3, '\3'));
  }
  // Both buffers are back; the first taken again is the last given back.
  OutputRef again = pool_.Take();
  OutputRef more = pool_.Take();
  EXPECT_TRUE(
      (!again->tensors().empty() && again->tensors()[1].data == memory) ||
      more->tensors()[1].data == memory);
}

TEST_F(InferResponseTest, CrowdedBufferIsCopiedSoThatItComesBackAtOnce) {
  HostOutputPool pool(2, 4, /*max_shared=*/0);
  output_ = pool.Take();
  for (size_t i = 0; i < 2; ++i) {
    HostOutputPool::Layout(*output_.get(), i, 4, spec_.outputs[i].type,
                           spec_.outputs[i].dims);
  }
  std::memset(output_->tensors()[1].data, 'x', 2400);
  OutputBuffer* const buffer = output_.get();
  const grpc::ByteBuffer reply = Encode({1}, 0, 1);
  output_ = OutputRef();  // the batch is over
  EXPECT_EQ(pool.Take().get(), buffer) << "the reply does not hold it";
  EXPECT_EQ(ReadBack(reply).raw_output_contents(0), std::string(2400, 'x'));
}

TEST_F(InferResponseTest, EmptyIdIsNotSent) {
  id_.clear();
  EXPECT_EQ(ReadBack(Encode({0}, 0, 1)).id(), "");
}

TEST_F(InferResponseTest, ModelWithoutBatchDimensionHasNoRowsInItsShape) {
  spec_.max_batch_size = 0;
  const ModelInferResponse response = ReadBack(Encode({0}, 0, 1));
  ASSERT_EQ(response.outputs(0).shape_size(), 1);
  EXPECT_EQ(response.outputs(0).shape(0), 3);
}

// 'small' of rows of 1, 2, 2 and 3 chunks of 2 elements.
TEST_F(InferResponseTest, RowsOfSizesOfTheirOwnTellTheirSize) {
  spec_.outputs[0].dims = {kAnySize, 2};
  output_ = OutputRef();
  output_ = pool_.Take();
  HostOutputPool::LayoutBytes(*output_.get(), 0, 16, spec_.outputs[0].dims);
  OutputTensor& tensor = output_->mutable_tensors()[0];
  tensor.row_starts = {0, 2, 6, 10, 16};
  for (size_t byte = 0; byte < 16; ++byte) {
    tensor.data[byte] = static_cast<std::byte>('a' + byte);
  }
  const ModelInferResponse two = ReadBack(Encode({0}, 1, 2));
  EXPECT_EQ(two.raw_output_contents(0), "cdefghij");
  EXPECT_THAT(two.outputs(0).shape(), testing::ElementsAre(2, 2, 2));
  const ModelInferResponse last = ReadBack(Encode({0}, 3, 1));
  EXPECT_EQ(last.raw_output_contents(0), "klmnop");
  EXPECT_THAT(last.outputs(0).shape(), testing::ElementsAre(1, 3, 2));
}

TEST_F(InferResponseTest, ScalarHasAnEmptyShape) {
  spec_.max_batch_size = 0;
  OutputTensor& tensor = output_->mutable_tensors()[0];
  tensor.row_dims.clear();
  tensor.row_bytes = 1;
  const ModelInferResponse response = ReadBack(Encode({0}, 0, 1));
  EXPECT_EQ(response.outputs(0).shape_size(), 0);
  EXPECT_EQ(response.raw_output_contents(0).size(), 1u);
}

}  // namespace
}  // namespace ferry
