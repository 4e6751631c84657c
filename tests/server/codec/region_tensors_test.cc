// Tests requests and replies of which tensors are in shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "proto/inference.pb.h"
#include "server/codec/infer_codec.h"
#include "server/codec/infer_response.h"
#include "tensor/host_output_pool.h"
#include "tests/server/codec/codec_requests.h"
#include "tests/server/codec/shared_object.h"

namespace ferry {
namespace {

using inference::ModelInferResponse;
using testing::HasSubstr;

std::string BytesOf(const TensorView& view) {
  std::string bytes;
  for (const ByteSegment& segment : view.segments) {
    bytes.append(reinterpret_cast<const char*>(segment.data), segment.size);
  }
  return bytes;
}

void Place(InferParameterMap& parameters, const std::string& region,
           int64_t offset, int64_t bytes) {
  parameters["shared_memory_region"].set_string_param(region);
  parameters["shared_memory_offset"].set_int64_param(offset);
  parameters["shared_memory_byte_size"].set_int64_param(bytes);
}

// 'a' of RightRequest() lies in a region, with its bytes reversed.
class RegionTensorsTest : public testing::Test {
 protected:
  RegionTensorsTest() {
    request_ = RightRequest();
    a_ = request_.raw_input_contents(0);
    b_ = request_.raw_input_contents(1);
    std::reverse(a_.begin(), a_.end());
    object_.Write(8, a_);
    EXPECT_TRUE(regions_.Register("client", "r", object_.key(), 0, 100).ok());
    request_.clear_raw_input_contents();
    request_.add_raw_input_contents(b_);
    Place(*request_.mutable_inputs(0)->mutable_parameters(), "r", 8, 24);
  }

  absl::Status Bind() {
    message_.emplace(request_.SerializeAsString());
    const ClientRegions regions = {
        .regions = &regions_, .client = &client_, .max_bytes = max_bytes_};
    absl::Status status = decoder_.Parse(message_->segments());
    const ModelView model = {ModelName(), Spec(), kSerial};
    if (status.ok()) {
      status = decoder_.Bind(model, bound_, regions);
    }
    return status.ok() ? decoder_.CopyRegions(model) : status;
  }

  SharedObject object_{100};
  SharedRegions regions_{{}};
  std::string client_ = "client";
  uint64_t max_bytes_ = 1000;
  ModelInferRequest request_;
  std::string a_, b_;
  std::optional<MessageBytes> message_;
  InferDecoder decoder_;
  InferRequest bound_;
};

TEST_F(RegionTensorsTest, InputsOfBothKindsAreBound) {
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(BytesOf(bound_.inputs[0]), a_);
  EXPECT_EQ(BytesOf(bound_.inputs[1]), b_);
  EXPECT_EQ(bound_.bytes, a_.size() + b_.size());
}

TEST_F(RegionTensorsTest, RawContentsAreThoseOfTheOthersInTheirOrder) {
  object_.Write(40, b_.substr(0, 40));
  request_.clear_raw_input_contents();
  request_.mutable_inputs(0)->clear_parameters();
  request_.mutable_inputs(1)->set_shape(1, 2);
  Place(*request_.mutable_inputs(1)->mutable_parameters(), "r", 40, 32);
  request_.add_raw_input_contents(a_);
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(BytesOf(bound_.inputs[0]), a_);
  EXPECT_EQ(BytesOf(bound_.inputs[1]), b_.substr(0, 32));
  request_.add_raw_input_contents(b_);
  EXPECT_THAT(Bind().message(),
              HasSubstr("expected 1 raw_input_contents, one an input that is "
                        "in no shared memory, got 2"));
}

TEST_F(RegionTensorsTest, WhatIsReadIsOfThisRequest) {
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(BytesOf(bound_.inputs[0]), a_);
  const std::string other(24, '\7');
  object_.Write(8, other);
  EXPECT_EQ(BytesOf(bound_.inputs[0]), a_) << "it is a copy";
  ASSERT_TRUE(Bind().ok());
  EXPECT_TRUE(decoder_.output_regions().empty());
  EXPECT_EQ(BytesOf(bound_.inputs[0]), other);
}

TEST_F(RegionTensorsTest, RequestsAreBoundedAsMessages) {
  max_bytes_ = 24;
  EXPECT_TRUE(Bind().ok());
  max_bytes_ = 23;
  EXPECT_TRUE(absl::IsInvalidArgument(Bind()));
}

TEST_F(RegionTensorsTest, WrongRangesSayWhy) {
  auto& parameters = *request_.mutable_inputs(0)->mutable_parameters();
  const auto expect = [&](const std::string& region, int64_t offset,
                          int64_t bytes, const std::string& said) {
    Place(parameters, region, offset, bytes);
    EXPECT_THAT(Bind().message(), HasSubstr(said)) << region << " " << offset;
  };
  expect("r", 77, 24,
         "input 'a' for model 'm': expected a range in the region");
  expect("r", 8, 23, "input byte size mismatch for input 'a'");
  expect("other", 8, 24, "unable to find shared memory region: 'other'");
  object_.Resize(20);
  expect("r", 8, 24, "input 'a' for model 'm': the shared memory object");
  client_ = "another";
  expect("r", 8, 24, "unable to find shared memory region: 'r'");
}

TEST_F(RegionTensorsTest, StringsThatCannotBeThereAreNotCounted) {
  const ModelSpec texts = {.inputs = {{"a", DataType::kBytes, {kAnySize}}},
                           .outputs = {},
                           .max_batch_size = 4};
  request_.mutable_inputs()->DeleteSubrange(1, 1);
  request_.clear_raw_input_contents();
  auto& input = *request_.mutable_inputs(0);
  input.set_datatype("BYTES");
  input.set_shape(1, int64_t{1} << 58);
  message_.emplace(request_.SerializeAsString());
  ASSERT_TRUE(decoder_.Parse(message_->segments()).ok());
  const absl::Status status = decoder_.Bind(
      {ModelName(), texts, kSerial}, bound_,
      {.regions = &regions_, .client = &client_, .max_bytes = max_bytes_});
  EXPECT_THAT(status.message(),
              HasSubstr("Expected at least 2305843009213693952, got 24"));
}

TEST_F(RegionTensorsTest, WrongParametersSayWhy) {
  auto& input = *request_.mutable_inputs(0)->mutable_parameters();
  auto& output = *request_.add_outputs()->mutable_parameters();
  request_.mutable_outputs(0)->set_name("x");
  const auto expect = [&](const char* said) {
    EXPECT_THAT(Bind().message(), HasSubstr(said));
    input.clear();
    output.clear();
  };
  input.erase("shared_memory_byte_size");
  expect(
      "input 'a': expected the parameters 'shared_memory_region' and "
      "'shared_memory_byte_size' together, got only the first");
  request_.clear_raw_input_contents();
  request_.add_raw_input_contents(a_);
  request_.add_raw_input_contents(b_);
  output["shared_memory_byte_size"].set_int64_param(1);
  expect(
      "output 'x': expected the parameters 'shared_memory_region' and "
      "'shared_memory_byte_size' together, got no 'shared_memory_region'");
  input["shared_memory_offset"].set_int64_param(1);
  expect("got no 'shared_memory_region'");
  input["shared_memory_region"].set_int64_param(1);
  expect("'shared_memory_region' parameter, expected string_param");
  input["shared_memory_region"].set_string_param("");
  expect(
      "parameter 'shared_memory_region': expected the name of a region, got "
      "none");
  input["shared_memory_byte_size"].set_int64_param(-1);
  expect("parameter 'shared_memory_byte_size': expected at least 0, got -1");
  input["shared_memory_offset"].set_string_param("1");
  expect("'shared_memory_offset' parameter, expected int64_param");
}

TEST_F(RegionTensorsTest, ValuesOutsideTheMessageHaveNoTypedContents) {
  request_.clear_raw_input_contents();
  for (int i = 1; i <= 10; ++i) {
    request_.mutable_inputs(1)->mutable_contents()->add_int64_contents(i);
  }
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(BytesOf(bound_.inputs[1]), b_);
  request_.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  EXPECT_THAT(Bind().message(),
              HasSubstr("contents field must not be specified when using "
                        "shared memory for 'a'"));
}

TEST_F(RegionTensorsTest, OutputsGoToTheirRegionsUntilTheCallIsCleared) {
  auto* x = request_.add_outputs();
  x->set_name("x");
  request_.add_outputs()->set_name("y");
  Place(*x->mutable_parameters(), "r", 60, 24);
  ASSERT_TRUE(Bind().ok());
  ASSERT_EQ(decoder_.output_regions().size(), 2);
  EXPECT_NE(decoder_.output_regions()[0].region, nullptr);
  EXPECT_EQ(decoder_.output_regions()[1].region, nullptr);
  bool is_done = false;
  EXPECT_TRUE(regions_.Unregister("client", "", [&] { is_done = true; }).ok());
  EXPECT_FALSE(is_done);
  decoder_.Clear();
  EXPECT_TRUE(is_done);
}

TEST_F(RegionTensorsTest, ClassesGoToNoRegion) {
  auto* x = request_.add_outputs();
  x->set_name("x");
  Place(*x->mutable_parameters(), "r", 60, 24);
  (*x->mutable_parameters())["classification"].set_int64_param(1);
  EXPECT_THAT(Bind().message(), HasSubstr("expected classes in the message"));
}

// Two rows of 'x' FP32 [3] and 'y' INT8 [1], of which 'x' goes to a region.
class RegionReplyTest : public testing::Test {
 protected:
  RegionReplyTest() : pool_(2, 2), output_(pool_.Take()) {
    for (size_t i = 0; i < 2; ++i) {
      HostOutputPool::Layout(*output_.get(), i, 2, spec_.outputs[i].type,
                             spec_.outputs[i].dims);
      const OutputTensor& tensor = output_->tensors()[i];
      std::memset(tensor.data, static_cast<int>(i) + 1, 2 * tensor.row_bytes);
    }
    EXPECT_TRUE(regions_.Register("c", "r", object_.key(), 10, 90).ok());
  }

  InferResponseView View() {
    return {.model_name = name_,
            .model_version = version_,
            .id = id_,
            .spec = spec_,
            .outputs = outputs_,
            .regions = placed_,
            .rows = {output_.get(), 0, 2}};
  }

  SharedObject object_{100};
  SharedRegions regions_{{}};
  ModelSpec spec_ = {
      .inputs = {},
      .outputs = {{"x", DataType::kFp32, {3}}, {"y", DataType::kInt8, {1}}},
      .max_batch_size = 2};
  std::string name_ = "m", version_ = "1", id_;
  std::vector<size_t> outputs_ = {0, 1};
  std::vector<OutputRegion> placed_{2};
  HostOutputPool pool_;
  OutputRef output_;
};

TEST_F(RegionReplyTest, BytesAreInTheRegionAndTheReplySaysWhere) {
  placed_[0] = {.range = {.region = "r", .offset = 5, .bytes = 30},
                .region = *regions_.Find("c", "r")};
  ASSERT_TRUE(WriteToRegions(View()).ok());
  EXPECT_EQ(object_.Read(15, 24), std::string(24, '\1'));
  EXPECT_EQ(object_.Read(0, 15), std::string(15, '\0'));
  EXPECT_EQ(object_.Read(39, 61), std::string(61, '\0'));

  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(EncodeInferResponse(View()).Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  ModelInferResponse reply;
  ASSERT_TRUE(reply.ParseFromString(bytes));
  const auto& parameters = reply.outputs(0).parameters();
  EXPECT_EQ(parameters.at("shared_memory_region").string_param(), "r");
  EXPECT_EQ(parameters.at("shared_memory_byte_size").int64_param(), 24);
  EXPECT_EQ(parameters.at("shared_memory_offset").int64_param(), 5);
  EXPECT_EQ(reply.outputs(0).shape_size(), 2);
  EXPECT_TRUE(reply.outputs(1).parameters().empty());
  ASSERT_EQ(reply.raw_output_contents_size(), 2);
  EXPECT_EQ(reply.raw_output_contents(0), "");
  EXPECT_EQ(reply.raw_output_contents(1), std::string(2, '\2'));
}

TEST_F(RegionReplyTest, RangeThatIsTooSmallSaysWhatIsNeeded) {
  placed_[0] = {.range = {.region = "r", .offset = 0, .bytes = 23},
                .region = *regions_.Find("c", "r")};
  EXPECT_THAT(WriteToRegions(View()).message(),
              HasSubstr("output 'x': expected a shared_memory_byte_size of at "
                        "least 24 to hold the results, got 23"));
  EXPECT_EQ(object_.Read(0, 100), std::string(100, '\0'));
}

}  // namespace
}  // namespace ferry
