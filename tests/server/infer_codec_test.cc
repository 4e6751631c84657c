// What a right request becomes.
#include "server/infer_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/codec_requests.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;

TEST(InferDecoderTest, RightRequestIsBound) {
  const Decoded decoded(RightRequest());
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  const InferRequest& request = decoded.request;
  EXPECT_EQ(request.rows, 2);
  EXPECT_EQ(request.bytes, 6 * sizeof(float) + 10 * sizeof(int64_t));
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_THAT(request.inputs[0].dims, ElementsAre(3));
  EXPECT_THAT(request.inputs[1].dims, ElementsAre(5));
  EXPECT_EQ(Joined(request.inputs[0].runs),
            RawBytes<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(request.shape_key, ShapeKey(request.inputs));
  EXPECT_THAT(decoded.decoder.outputs(), ElementsAre(0, 1));
  EXPECT_EQ(decoded.decoder.parameters().timeout, Duration(0));
}

TEST(InferDecoderTest, InputsInAnyOrderAreInOrderOfTheSpec) {
  ModelInferRequest message;
  AddInput(message, "b", "INT64", {1, 2});
  AddInput(message, "a", "FP32", {1, 3});
  message.add_raw_input_contents(RawBytes<int64_t>({7, 8}));
  message.add_raw_input_contents(RawBytes<float>({1, 2, 3}));
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(Joined(decoded.request.inputs[0].runs), RawBytes<float>({1, 2, 3}));
  EXPECT_EQ(Joined(decoded.request.inputs[1].runs), RawBytes<int64_t>({7, 8}));
}

TEST(InferDecoderTest, OutputsAreThoseRequestedInTheirOrder) {
  ModelInferRequest message = RightRequest();
  message.add_outputs()->set_name("y");
  const Decoded one(message);
  ASSERT_TRUE(one.status.ok()) << one.status;
  EXPECT_THAT(one.decoder.outputs(), ElementsAre(1));
  message.add_outputs()->set_name("x");
  const Decoded both(message);
  EXPECT_THAT(both.decoder.outputs(), ElementsAre(1, 0));
}

TEST(InferDecoderTest, ModelWithoutBatchDimensionTakesItsWholeShape) {
  const ModelSpec spec = {.inputs = {{"a", DataType::kFp32, {2, kAnySize}}},
                          .outputs = {{"x", DataType::kFp32, {2}}},
                          .max_batch_size = 0};
  ModelInferRequest message;
  AddInput(message, "a", "FP32", {2, 3});
  message.add_raw_input_contents(std::string(24, '\0'));
  const Decoded decoded(message, spec);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.request.rows, 1);
  EXPECT_THAT(decoded.request.inputs[0].dims, ElementsAre(2, 3));
}

TEST(InferDecoderTest, DecoderIsUsedAgainAfterAnyMessage) {
  ModelInferRequest wrong = RightRequest();
  wrong.mutable_inputs(0)->set_datatype("INT8");
  ModelInferRequest typed;
  AddInput(typed, "a", "FP32", {1, 3});
  AddInput(typed, "b", "INT64", {1, 1});
  for (float value : {1.f, 2.f, 3.f}) {
    typed.mutable_inputs(0)->mutable_contents()->add_fp32_contents(value);
  }
  typed.mutable_inputs(1)->mutable_contents()->add_int64_contents(9);
  InferDecoder decoder;
  InferRequest request;
  for (int i = 0; i < 3; ++i) {
    const MessageBytes bad(wrong.SerializeAsString());
    ASSERT_TRUE(decoder.Parse(bad.runs()).ok());
    ASSERT_FALSE(decoder.Bind({ModelName(), Spec()}, request).ok());
    const MessageBytes explicit_bytes(typed.SerializeAsString());
    ASSERT_TRUE(decoder.Parse(explicit_bytes.runs()).ok());
    ASSERT_TRUE(decoder.Bind({ModelName(), Spec()}, request).ok());
    EXPECT_EQ(request.rows, 1);
    EXPECT_EQ(request.bytes, 20u);
    const MessageBytes good(RightRequest().SerializeAsString());
    ASSERT_TRUE(decoder.Parse(good.runs()).ok());
    ASSERT_TRUE(decoder.Bind({ModelName(), Spec()}, request).ok());
    EXPECT_EQ(request.rows, 2);
    decoder.Clear();
  }
}

TEST(InferDecoderTest, ParametersThatMeanNothingHereAreAccepted) {
  ModelInferRequest message = RightRequest();
  Parameter(message, "timeout").set_int64_param(1500);
  Parameter(message, "priority").set_uint64_param(7);
  Parameter(message, "sequence_id").set_int64_param(0);
  Parameter(message, "sequence_start").set_bool_param(false);
  Parameter(message, "triton_enable_empty_final_response").set_bool_param(true);
  Parameter(message, "anything").set_double_param(1.5);
  (*message.mutable_inputs(0)->mutable_parameters())["binary_data_size"]
      .set_int64_param(24);
  auto* output = message.add_outputs();
  output->set_name("x");
  (*output->mutable_parameters())["binary_data"].set_bool_param(true);
  const Decoded decoded(message);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.decoder.parameters().timeout, Milliseconds(1.5));
}

TEST(InferDecoderTest, LongNamesAreCutInMessages) {
  ModelInferRequest message = RightRequest();
  message.mutable_inputs(1)->set_name(std::string(100'000, 'x'));
  const Decoded decoded(message);
  EXPECT_LT(decoded.status.message().size(), 300u);
}

}  // namespace
}  // namespace ferry
