// Tests inputs of datatype BYTES, raw and typed, right and wrong, and inputs
// that may be left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/codec/infer_codec.h"
#include "tests/server/codec/codec_requests.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

// One input 's' of two elements a row.
const ModelSpec kTexts = {.inputs = {{"s", DataType::kBytes, {2}}},
                          .outputs = {{"y", DataType::kBytes, {2}}},
                          .max_batch_size = 4};

// Elements "ab", "", "" and "c".
const std::string kElements("\2\0\0\0ab\0\0\0\0\0\0\0\0\1\0\0\0c", 19);

ModelInferRequest TextRequest() {
  ModelInferRequest request;
  request.set_model_name(ModelName());
  AddInput(request, "s", "BYTES", {2, 2});
  return request;
}

std::string TextOf(const TensorView& view) {
  std::string text;
  for (const ferry::ByteSegment& segment : view.segments) {
    text.append(reinterpret_cast<const char*>(segment.data), segment.size);
  }
  return text;
}

TEST(BytesContents, RawElementsAreTakenAsTheyLie) {
  ModelInferRequest message = TextRequest();
  message.add_raw_input_contents(kElements);
  const Decoded decoded(message, kTexts);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  const TensorView& input = decoded.request.inputs[0];
  EXPECT_TRUE(input.is_bytes);
  EXPECT_EQ(TextOf(input), kElements);
  EXPECT_EQ(decoded.request.rows, 2);
  EXPECT_GT(decoded.request.bytes, kElements.size())
      << "admission counts the strings that a model makes of them";
}

TEST(BytesContents, TypedElementsArePutBehindTheirLengths) {
  ModelInferRequest message = TextRequest();
  for (const char* text : {"ab", "", "", "c"}) {
    message.mutable_inputs(0)->mutable_contents()->add_bytes_contents(text);
  }
  const Decoded decoded(message, kTexts);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(TextOf(decoded.request.inputs[0]), kElements);
}

TEST(BytesContents, ElementsThatAreNotThereAreRefused) {
  const struct {
    std::string raw;
    const char* message;
  } kCases[] = {
      {"", "expected 4 elements of datatype 'BYTES', got 0"},
      {kElements.substr(0, 14),
       "expected 4 elements of datatype 'BYTES', got "
       "3"},
      {kElements.substr(0, 17),
       "element 3 of datatype 'BYTES': expected a length of 4 bytes, got 3 "
       "bytes"},
      {kElements.substr(0, 18),
       "element 3 of datatype 'BYTES': expected 1 bytes behind its length, got "
       "0"},
      {std::string("\xff\xff\xff\xff", 4) + "ab",
       "element 0 of datatype 'BYTES': expected 4294967295 bytes behind its "
       "length, got 2"},
      {kElements + "d",
       "expected 4 elements of datatype 'BYTES', got 1 bytes behind them"},
  };
  for (const auto& c : kCases) {
    ModelInferRequest message = TextRequest();
    message.add_raw_input_contents(c.raw);
    const Decoded decoded(message, kTexts);
    EXPECT_EQ(decoded.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(decoded.status.message()),
        HasSubstr(std::string("input 's' for model 'm': ") + c.message));
  }
}

TEST(BytesContents, RepeatedRequestIsCheckedForItsElements) {
  ModelInferRequest message = TextRequest();
  message.add_raw_input_contents(kElements);
  const MessageBytes right(message.SerializeAsString());
  std::string spoilt = kElements;
  spoilt[0] = 3;  // as many bytes, other elements
  message.set_raw_input_contents(0, spoilt);
  const MessageBytes wrong(message.SerializeAsString());
  InferDecoder decoder;
  InferRequest request;
  const ModelView model = {ModelName(), kTexts, kSerial};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(decoder.Parse(right.segments()).ok());
    EXPECT_TRUE(decoder.Bind(model, request).ok());
    ASSERT_TRUE(decoder.Parse(wrong.segments()).ok());
    EXPECT_FALSE(decoder.Bind(model, request).ok());
  }
}

TEST(BytesContents, AbsurdlyManyElementsAreRefused) {
  ModelSpec spec = kTexts;
  spec.inputs[0].dims = {kAnySize, kAnySize};
  ModelInferRequest message;
  message.set_model_name(ModelName());
  AddInput(message, "s", "BYTES", {1, int64_t{1} << 31, int64_t{1} << 31});
  message.add_raw_input_contents(kElements);
  EXPECT_THAT(std::string(Decoded(message, spec).status.message()),
              HasSubstr("more bytes than can be counted"));
  message.mutable_inputs(0)->set_shape(1, 1);
  EXPECT_THAT(std::string(Decoded(message, spec).status.message()),
              HasSubstr("expected 2147483648 elements"));
}

// 'a' of the two inputs may be left out.
ModelSpec OptionalSpec() {
  ModelSpec spec = Spec();
  spec.inputs[0].is_optional = true;
  return spec;
}

TEST(OptionalInput, MayBeLeftOut) {
  ModelInferRequest message = RightRequest();
  const Decoded with(message, OptionalSpec());
  ASSERT_TRUE(with.status.ok()) << with.status;
  EXPECT_TRUE(with.request.inputs[0].is_given);
  message.mutable_inputs()->DeleteSubrange(0, 1);
  message.mutable_raw_input_contents()->DeleteSubrange(0, 1);
  const Decoded without(message, OptionalSpec());
  ASSERT_TRUE(without.status.ok()) << without.status;
  EXPECT_FALSE(without.request.inputs[0].is_given);
  EXPECT_TRUE(without.request.inputs[1].is_given);
  EXPECT_EQ(without.request.rows, 2);
  EXPECT_NE(without.request.shape_key, with.request.shape_key);
  EXPECT_FALSE(SameShape(without.request.inputs, with.request.inputs));
}

TEST(OptionalInput, OtherInputsMayNotBeLeftOut) {
  ModelInferRequest message = RightRequest();
  message.mutable_inputs()->RemoveLast();
  message.mutable_raw_input_contents()->RemoveLast();
  EXPECT_THAT(std::string(Decoded(message, OptionalSpec()).status.message()),
              HasSubstr("missing input(s) ['b']"));
}

TEST(OptionalInput, SomeInputMustSayHowManyRowsThereAre) {
  ModelSpec spec = OptionalSpec();
  spec.inputs[1].is_optional = true;
  ModelInferRequest message;
  message.set_model_name(ModelName());
  EXPECT_THAT(std::string(Decoded(message, spec).status.message()),
              HasSubstr("expected at least one input"));
  spec.max_batch_size = 0;
  const Decoded decoded(message, spec);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.request.rows, 1);
}

TEST(OptionalInput, RawContentsAreCountedByTheInputsSent) {
  ModelInferRequest message = RightRequest();
  message.mutable_inputs()->DeleteSubrange(0, 1);
  EXPECT_THAT(std::string(Decoded(message, OptionalSpec()).status.message()),
              HasSubstr("expected 1 raw_input_contents, one an input, got 2"));
}

TEST(OptionalInput, RepeatedRequestsLeaveItOutAgain) {
  ModelInferRequest message = RightRequest();
  message.mutable_inputs()->DeleteSubrange(0, 1);
  message.mutable_raw_input_contents()->DeleteSubrange(0, 1);
  const MessageBytes bytes(message.SerializeAsString());
  const ModelSpec spec = OptionalSpec();
  InferDecoder decoder;
  InferRequest request;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(decoder.Parse(bytes.segments()).ok());
    ASSERT_TRUE(decoder.Bind({ModelName(), spec, kSerial}, request).ok());
    EXPECT_FALSE(request.inputs[0].is_given);
    EXPECT_EQ(request.inputs[1].segments.front().size, 80u);
  }
}

}  // namespace
}  // namespace ferry
