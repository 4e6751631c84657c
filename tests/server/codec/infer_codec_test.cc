// Tests what InferDecoder makes of a right request.
#include "server/codec/infer_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/server/codec/codec_requests.h"

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
  EXPECT_EQ(Joined(request.inputs[0].segments),
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
  EXPECT_EQ(Joined(decoded.request.inputs[0].segments),
            RawBytes<float>({1, 2, 3}));
  EXPECT_EQ(Joined(decoded.request.inputs[1].segments),
            RawBytes<int64_t>({7, 8}));
}

TEST(InferDecoderTest, SizesOfZeroAreBoundWhereTheConfigHasAny) {
  ModelInferRequest message;
  AddInput(message, "a", "FP32", {2, 3});
  AddInput(message, "b", "INT64", {2, 0});
  message.add_raw_input_contents(RawBytes<float>({1, 2, 3, 4, 5, 6}));
  message.add_raw_input_contents("");
  const Decoded raw(message);
  ASSERT_TRUE(raw.status.ok()) << raw.status;
  EXPECT_EQ(raw.request.rows, 2);
  EXPECT_THAT(raw.request.inputs[1].dims, ElementsAre(0));
  EXPECT_EQ(Joined(raw.request.inputs[1].segments), "");

  message.clear_raw_input_contents();
  for (const float value : {1.F, 2.F, 3.F, 4.F, 5.F, 6.F}) {
    message.mutable_inputs(0)->mutable_contents()->add_fp32_contents(value);
  }
  const Decoded typed(message);
  ASSERT_TRUE(typed.status.ok()) << typed.status;
  EXPECT_EQ(typed.request.shape_key, raw.request.shape_key);
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

// ids [-1] to 4 or 8 and a mask of them.
ModelSpec MaskedSpec() {
  ModelSpec spec = {.inputs = {{"ids", DataType::kInt8, {kAnySize}},
                               {"mask", DataType::kInt8, {kAnySize}}},
                    .outputs = {{"x", DataType::kFp32, {1}}},
                    .max_batch_size = 4};
  spec.inputs[0].pads = spec.inputs[1].pads = {4, 8};
  spec.inputs[1].follows = 0;
  spec.inputs[1].is_mask = spec.inputs[1].is_optional = true;
  return spec;
}

// Two rows of `ids` of three elements.
ModelInferRequest IdsRequest() {
  ModelInferRequest message;
  message.set_model_name(ModelName());
  AddInput(message, "ids", "INT8", {2, 3});
  message.add_raw_input_contents("abcdef");
  return message;
}

TEST(InferDecoderTest, MaskThatIsLeftOutIsMade) {
  const ModelSpec spec = MaskedSpec();
  Decoded decoded(IdsRequest(), spec);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  const InferRequest& request = decoded.request;
  EXPECT_THAT(request.inputs[1].dims, ElementsAre(3));
  EXPECT_EQ(Joined(request.inputs[1].segments), std::string(6, '\1'));
  EXPECT_EQ(request.bytes, 6u) << "the mask costs none";
  for (const TensorView& view : request.inputs) {
    EXPECT_THAT(view.batch_dims(), ElementsAre(4));
  }
  ModelInferRequest given = IdsRequest();
  AddInput(given, "mask", "INT8", {2, 3});
  given.add_raw_input_contents(std::string(6, '\1'));
  const Decoded with_mask(given, spec);
  ASSERT_TRUE(with_mask.status.ok()) << with_mask.status;
  EXPECT_EQ(request.shape_key, with_mask.request.shape_key);
  // The same message again.
  decoded.decoder.Clear();
  ASSERT_TRUE(decoded.decoder.Parse(decoded.bytes.segments()).ok());
  ASSERT_TRUE(
      decoded.decoder.Bind({ModelName(), spec, kSerial}, decoded.request).ok());
  EXPECT_EQ(Joined(request.inputs[1].segments), std::string(6, '\1'));
}

TEST(InferDecoderTest, MaskOfAnotherSizeIsRefused) {
  ModelInferRequest message = IdsRequest();
  AddInput(message, "mask", "INT8", {2, 4});  // padded, both would be 4
  message.add_raw_input_contents(std::string(8, '\1'));
  EXPECT_EQ(Decoded(message, MaskedSpec()).status.message(),
            "unexpected shape for input 'mask' for model 'm'. Expected the "
            "size of input 'ids', which is [3] a row, got [4]");
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
    ASSERT_TRUE(decoder.Parse(bad.segments()).ok());
    ASSERT_FALSE(decoder.Bind({ModelName(), Spec(), kSerial}, request).ok());
    const MessageBytes explicit_bytes(typed.SerializeAsString());
    ASSERT_TRUE(decoder.Parse(explicit_bytes.segments()).ok());
    ASSERT_TRUE(decoder.Bind({ModelName(), Spec(), kSerial}, request).ok());
    EXPECT_EQ(request.rows, 1);
    EXPECT_EQ(request.bytes, 20u);
    const MessageBytes good(RightRequest().SerializeAsString());
    ASSERT_TRUE(decoder.Parse(good.segments()).ok());
    ASSERT_TRUE(decoder.Bind({ModelName(), Spec(), kSerial}, request).ok());
    EXPECT_EQ(request.rows, 2);
    decoder.Clear();
  }
}

// What a decoder made of a message, in words.
std::string Described(const InferDecoder& decoder, const InferRequest& request,
                      const absl::Status& status) {
  std::string text = absl::StrCat(status.ToString(), " id ", decoder.id(),
                                  " model ", decoder.model_name());
  if (!status.ok()) {
    return text;
  }
  absl::StrAppend(&text, " rows ", request.rows, " bytes ", request.bytes,
                  " key ", request.shape_key, " timeout ",
                  decoder.parameters().timeout.count(), " outputs ",
                  absl::StrJoin(decoder.outputs(), ","));
  for (const TensorView& input : request.inputs) {
    absl::StrAppend(&text, " [", absl::StrJoin(input.dims, ","), "] ",
                    absl::BytesToHexString(Joined(input.segments)));
  }
  return text;
}

// One decoder for all messages, as a call's is, sees what a new one would.
class RepeatedMessages {
 public:
  void Send(ModelInferRequest message, uint64_t serial, size_t cut) {
    const std::string text = message.SerializeAsString();
    const MessageBytes bytes(text, {cut % (text.size() + 1)});
    InferDecoder fresh;
    InferRequest of_kept;
    InferRequest of_fresh;
    const absl::Status expected = Decode(fresh, bytes, serial, of_fresh);
    const absl::Status found = Decode(kept_, bytes, serial, of_kept);
    EXPECT_EQ(Described(kept_, of_kept, found),
              Described(fresh, of_fresh, expected));
    kept_.Clear();
  }

 private:
  static absl::Status Decode(InferDecoder& decoder, const MessageBytes& bytes,
                             uint64_t serial, InferRequest& request) {
    absl::Status status = decoder.Parse(bytes.segments());
    return status.ok() ? decoder.Bind({ModelName(), Spec(), serial}, request)
                       : status;
  }

  InferDecoder kept_;
};

// Changes one thing of the message, or nothing.
void ChangeSomething(std::mt19937_64& random, ModelInferRequest& message) {
  static const char* const kIds[] = {"", "1", "request-22", "\xc3\xa4",
                                     "\xff not UTF-8"};
  switch (random() % 16) {
    case 0:
    case 1:
    case 2:
      message.set_id(kIds[random() % 5]);
      break;
    case 3:
      Parameter(message, "timeout")
          .set_int64_param(static_cast<int64_t>(random() % 3) - 1);
      break;
    case 4:
      message.clear_outputs();
      message.add_outputs()->set_name(random() % 3 == 0 ? "none" : "y");
      break;
    case 5:
      if (message.raw_input_contents_size() > 0) {
        message.mutable_raw_input_contents(0)->resize(random() % 2 == 0 ? 24
                                                                        : 20);
      }
      break;
    case 6:
      message.clear_raw_input_contents();
      break;
    case 7:
      message.mutable_inputs(0)->mutable_shape()->Set(
          0, static_cast<int64_t>(random() % 3));
      break;
    case 8:
      message.mutable_inputs(1)->set_name(random() % 2 == 0 ? "b" : "c");
      break;
    case 9:
      message = RightRequest();
      break;
    case 10:
      message.set_model_name(std::string(random() % 2 == 0 ? 1 : 5000, 'm'));
      break;
    default:
      if (message.raw_input_contents_size() > 1) {
        (*message.mutable_raw_input_contents(1))[0] =
            static_cast<char>(random());
      }
  }
}

TEST(InferDecoderTest, RepeatedMessagesAreDecodedAsIfTheyWereNew) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    RepeatedMessages repeated;
    ModelInferRequest message = RightRequest();
    for (int i = 0; i < 60; ++i) {
      if (random() % 3 == 0) {
        ChangeSomething(random, message);
      }
      repeated.Send(message, 1 + random() % 12 / 11, random());
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
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
  Parameter(message, "timeout").set_int64_param(INT64_MAX);
  const Decoded unlimited(message);
  ASSERT_TRUE(unlimited.status.ok()) << unlimited.status;
  EXPECT_EQ(unlimited.decoder.parameters().timeout, Duration(0));
}

TEST(InferDecoderTest, LongNamesAreCutInMessages) {
  ModelInferRequest message = RightRequest();
  message.mutable_inputs(1)->set_name(std::string(100'000, 'x'));
  const Decoded decoded(message);
  EXPECT_LT(decoded.status.message().size(), 300u);
}

}  // namespace
}  // namespace ferry
