// Tests replies of both forms, and those that lack something.
#include "bench/client/reply_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

using Reply = inference::ModelInferResponse;

inference::ModelMetadataResponse MetadataOf(int outputs) {
  inference::ModelMetadataResponse metadata;
  for (int i = 0; i < outputs; ++i) {
    metadata.add_outputs()->set_name(std::string("y"));
  }
  return metadata;
}

Reply::InferOutputTensor& AddOutput(Reply& reply, const std::string& datatype,
                                    const std::vector<int64_t>& shape) {
  auto& output = *reply.add_outputs();
  output.set_name(std::string("y"));
  output.set_datatype(datatype);
  for (const int64_t dim : shape) {
    output.add_shape(dim);
  }
  return output;
}

std::string ErrorOf(const Reply& reply, int outputs = 1) {
  return std::string(CheckReply(reply, MetadataOf(outputs)).message());
}

TEST(ReplyContentsTest, RawBytesAreOfTheShape) {
  Reply reply;
  AddOutput(reply, "FP16", {2, 3});
  reply.add_raw_output_contents(std::string(12, 'x'));
  EXPECT_EQ(ErrorOf(reply), "");
  reply.mutable_raw_output_contents(0)->push_back('x');
  EXPECT_EQ(ErrorOf(reply),
            "first reply: expected output 'y', FP16 of shape [2,3], in 12 "
            "bytes, found 13");
}

TEST(ReplyContentsTest, BytesAndUnknownTypesAreOfAnyLength) {
  Reply reply;
  AddOutput(reply, "BYTES", {1});
  AddOutput(reply, "FP8", {7});
  reply.add_raw_output_contents("abcdefgh");
  reply.add_raw_output_contents("");
  EXPECT_EQ(ErrorOf(reply, 2), "");
}

TEST(ReplyContentsTest, EveryTypeHasItsTypedField) {
  using Contents = inference::InferTensorContents;
  const std::pair<const char*, void (*)(Contents&)> kinds[] = {
      {"BOOL", [](Contents& c) { c.add_bool_contents(true); }},
      {"INT8", [](Contents& c) { c.add_int_contents(1); }},
      {"INT16", [](Contents& c) { c.add_int_contents(1); }},
      {"INT32", [](Contents& c) { c.add_int_contents(1); }},
      {"INT64", [](Contents& c) { c.add_int64_contents(1); }},
      {"UINT8", [](Contents& c) { c.add_uint_contents(1); }},
      {"UINT16", [](Contents& c) { c.add_uint_contents(1); }},
      {"UINT32", [](Contents& c) { c.add_uint_contents(1); }},
      {"UINT64", [](Contents& c) { c.add_uint64_contents(1); }},
      {"FP32", [](Contents& c) { c.add_fp32_contents(1); }},
      {"FP64", [](Contents& c) { c.add_fp64_contents(1); }},
      {"BYTES", [](Contents& c) { c.add_bytes_contents("a"); }}};
  for (const auto& [datatype, add] : kinds) {
    Reply reply;
    auto& contents = *AddOutput(reply, datatype, {1, 2}).mutable_contents();
    add(contents);
    EXPECT_THAT(ErrorOf(reply), HasSubstr("with 2 elements in its contents or "
                                          "in raw_output_contents, found 1"))
        << datatype;
    add(contents);
    EXPECT_EQ(ErrorOf(reply), "") << datatype;
  }
}

TEST(ReplyContentsTest, HalvesWithoutContentsAreMissing) {
  for (const char* datatype : {"FP16", "BF16"}) {
    Reply reply;
    auto& output = AddOutput(reply, datatype, {2});
    EXPECT_THAT(ErrorOf(reply), HasSubstr("found 0")) << datatype;
    output.mutable_contents()->add_bytes_contents("abcd");
    EXPECT_EQ(ErrorOf(reply), "") << datatype;
  }
}

TEST(ReplyContentsTest, NothingIsOfAnEmptyShape) {
  Reply reply;
  AddOutput(reply, "FP32", {0, 4});
  EXPECT_EQ(ErrorOf(reply), "");
}

TEST(ReplyContentsTest, AllOutputsAreThereAndOfOneForm) {
  Reply reply;
  EXPECT_EQ(ErrorOf(reply), "first reply: expected 1 outputs, found 0");
  EXPECT_EQ(ErrorOf(reply, 0),
            "first reply: expected an output at least, found 0");
  AddOutput(reply, "FP32", {1}).mutable_contents()->add_fp32_contents(1);
  AddOutput(reply, "FP32", {1}).mutable_contents()->add_fp32_contents(1);
  EXPECT_EQ(ErrorOf(reply, 2), "");
  EXPECT_EQ(ErrorOf(reply, 0), "") << "metadata without outputs";
  reply.add_raw_output_contents("abcd");
  EXPECT_EQ(ErrorOf(reply, 2),
            "first reply: expected raw contents of all 2 outputs, or of none, "
            "found 1");
}

TEST(ReplyContentsTest, ShapeIsOfSizes) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{-1}, {int64_t{1} << 62, int64_t{1} << 62}}) {
    Reply reply;
    AddOutput(reply, "FP32", shape);
    EXPECT_THAT(ErrorOf(reply), HasSubstr("expected a shape of sizes"));
  }
}

}  // namespace
}  // namespace ferry::bench
