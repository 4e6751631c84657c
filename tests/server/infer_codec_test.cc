// What a client can get wrong, and what it gets when all is right.
#include "server/infer_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/server/message_bytes.h"

namespace ferry {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string& ModelName() {
  static const std::string* const name = new std::string("m");
  return *name;
}

// Two inputs of a row: 'a' FP32 [3], 'b' INT64 [-1]; outputs 'x' and 'y'.
const ModelSpec& Spec() {
  static const ModelSpec* const spec = new ModelSpec{
      .inputs = {{"a", DataType::kFp32, {3}},
                 {"b", DataType::kInt64, {kAnySize}}},
      .outputs = {{"x", DataType::kFp32, {3}}, {"y", DataType::kInt64, {-1}}},
      .max_batch_size = 4};
  return *spec;
}

void AddInput(ModelInferRequest& request, const char* name, const char* type,
              const std::vector<int64_t>& shape) {
  auto* input = request.add_inputs();
  input->set_name(name);
  input->set_datatype(type);
  for (int64_t dim : shape) {
    input->add_shape(dim);
  }
}

// Two rows, right in every way.
ModelInferRequest RightRequest() {
  ModelInferRequest request;
  request.set_model_name(ModelName());
  AddInput(request, "a", "FP32", {2, 3});
  AddInput(request, "b", "INT64", {2, 5});
  request.add_raw_input_contents(RawBytes<float>({1, 2, 3, 4, 5, 6}));
  request.add_raw_input_contents(
      RawBytes<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  return request;
}

// A decoder with its message.
struct Decoded {
  explicit Decoded(const ModelInferRequest& message,
                   const ModelSpec& spec = Spec())
      : bytes(message.SerializeAsString()) {
    status = decoder.Parse(bytes.runs());
    if (status.ok()) {
      status = decoder.Bind({ModelName(), spec}, request);
    }
  }

  MessageBytes bytes;
  InferDecoder decoder;
  InferRequest request;
  absl::Status status;
};

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
  EXPECT_EQ(decoded.decoder.timeout(), Duration(0));
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

// --- everything a client can get wrong -------------------------------------

struct WrongCase {
  const char* what;
  std::function<void(ModelInferRequest&)> spoil;
  const char* message;  // part of the answer
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

void SetShape(ModelInferRequest& request, int input,
              const std::vector<int64_t>& shape) {
  auto* dims = request.mutable_inputs(input)->mutable_shape();
  dims->Clear();
  dims->Add(shape.begin(), shape.end());
}

inference::InferParameter& Parameter(ModelInferRequest& request,
                                     const char* name) {
  return (*request.mutable_parameters())[name];
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::vector<WrongCase> WrongInputs() {
  return {
      {"missing input",
       [](auto& r) {
         r.mutable_inputs()->RemoveLast();
         r.mutable_raw_input_contents()->RemoveLast();
       },
       "expected 2 inputs but got 1 inputs for model 'm', missing input(s) "
       "['b']"},
      {"no input", [](auto& r) { r.clear_inputs(); },
       "missing input(s) ['a', 'b']"},
      {"input given twice", [](auto& r) { r.mutable_inputs(1)->set_name("a"); },
       "input 'a' is given twice"},
      {"unknown input", [](auto& r) { r.mutable_inputs(1)->set_name("c"); },
       "unexpected inference input 'c' for model 'm'"},
      {"input without a name",
       [](auto& r) { r.mutable_inputs(0)->clear_name(); },
       "unexpected inference input ''"},
      {"one input too many",
       [](auto& r) {
         AddInput(r, "z", "FP32", {2, 3});
       },
       "unexpected inference input 'z'"},
      {"other datatype",
       [](auto& r) { r.mutable_inputs(0)->set_datatype("FP16"); },
       "inference input 'a' data-type is 'FP16', but model 'm' expects 'FP32'"},
      {"datatype of the config",
       [](auto& r) { r.mutable_inputs(0)->set_datatype("TYPE_FP32"); },
       "data-type is 'TYPE_FP32'"},
      {"no datatype", [](auto& r) { r.mutable_inputs(0)->clear_datatype(); },
       "data-type is ''"},
      {"fewer dims", [](auto& r) { SetShape(r, 0, {6}); },
       "unexpected shape for input 'a' for model 'm'. Expected [-1,3], got "
       "[6]"},
      {"more dims",
       [](auto& r) {
         SetShape(r, 0, {2, 3, 1});
       },
       "got [2,3,1]"},
      {"no dims", [](auto& r) { SetShape(r, 0, {}); }, "got []"},
      {"other dim",
       [](auto& r) {
         SetShape(r, 0, {2, 4});
       },
       "Expected [-1,3], got [2,4]"},
      {"negative dim",
       [](auto& r) {
         SetShape(r, 0, {2, -3});
       },
       "got [2,-3]"},
      {"any size as a dim",
       [](auto& r) {
         SetShape(r, 1, {2, -1});
       },
       "Expected [-1,-1], got [2,-1]"},
      {"zero dim",
       [](auto& r) {
         SetShape(r, 1, {2, 0});
       },
       "got [2,0]"},
      {"zero rows",
       [](auto& r) {
         SetShape(r, 0, {0, 3});
       },
       "got [0,3]"},
      {"negative rows",
       [](auto& r) {
         SetShape(r, 0, {-2, 3});
       },
       "got [-2,3]"},
      {"rows past max_batch_size",
       [](auto& r) {
         SetShape(r, 0, {5, 3});
       },
       "inference request batch-size must be <= 4 for 'm', got 5"},
      {"rows past 32 bits",
       [](auto& r) {
         SetShape(r, 0, {(int64_t{1} << 32) + 2, 3});
       },
       "batch-size must be <= 4 for 'm', got 4294967298"},
      {"other rows in the second input",
       [](auto& r) {
         SetShape(r, 1, {1, 10});
       },
       "input 'b' batch size does not match other inputs for 'm'. Expected 2, "
       "got 1"},
      {"bytes past 64 bits",
       [](auto& r) {
         SetShape(r, 1, {2, kHuge});
       },
       "more bytes than can be counted"},
      {"bytes that wrap to the right number",
       [](auto& r) {
         SetShape(r, 1, {2, (int64_t{1} << 60) + 5});
       },
       "more bytes than can be counted"},
      {"fewer bytes",
       [](auto& r) { r.mutable_raw_input_contents(0)->pop_back(); },
       "input byte size mismatch for input 'a' for model 'm'. Expected 24, got "
       "23"},
      {"more bytes",
       [](auto& r) { r.mutable_raw_input_contents(1)->push_back('\0'); },
       "Expected 80, got 81"},
      {"no bytes", [](auto& r) { r.mutable_raw_input_contents(0)->clear(); },
       "Expected 24, got 0"},
  };
}

std::vector<WrongCase> WrongContentsOrOutputs() {
  const auto fp32 = [](ModelInferRequest& r, int count) {
    for (int i = 0; i < count; ++i) {
      r.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
    }
  };
  return {
      {"fewer raw contents than inputs",
       [](auto& r) { r.mutable_raw_input_contents()->RemoveLast(); },
       "expected 2 raw_input_contents, one an input, got 1"},
      {"more raw contents than inputs",
       [](auto& r) { r.add_raw_input_contents("x"); }, "got 3"},
      {"raw and typed both", [fp32](auto& r) { fp32(r, 6); },
       "contents field must not be specified when using raw_input_contents for "
       "'a' for model 'm'"},
      {"neither raw nor typed", [](auto& r) { r.clear_raw_input_contents(); },
       "unable to find data for input tensor 'a' for model 'm' in request"},
      {"empty typed contents",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->mutable_contents();
       },
       "input 'a' for model 'm': unexpected number of elements in "
       "fp32_contents, expected 6, got 0"},
      {"fewer typed elements",
       [fp32](auto& r) {
         r.clear_raw_input_contents();
         fp32(r, 5);
       },
       "expected 6, got 5"},
      {"typed elements of another type",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->mutable_contents()->add_int_contents(1);
       },
       "unexpected explicit tensor data in int_contents, expected datatype "
       "'FP32'"},
      {"two typed fields",
       [fp32](auto& r) {
         r.clear_raw_input_contents();
         fp32(r, 6);
         r.mutable_inputs(0)->mutable_contents()->add_bytes_contents("x");
       },
       "unexpected explicit tensor data in bytes_contents"},
      {"unknown output", [](auto& r) { r.add_outputs()->set_name("z"); },
       "unexpected inference output 'z' for model 'm'"},
      {"output requested twice",
       [](auto& r) {
         r.add_outputs()->set_name("x");
         r.add_outputs()->set_name("x");
       },
       "output 'x' is requested twice"},
      {"classification",
       [](auto& r) {
         auto* output = r.add_outputs();
         output->set_name("x");
         (*output->mutable_parameters())["classification"].set_int64_param(3);
       },
       "classification extension is not supported",
       absl::StatusCode::kUnimplemented},
      {"output in shared memory",
       [](auto& r) {
         auto* output = r.add_outputs();
         output->set_name("x");
         (*output->mutable_parameters())["shared_memory_region"]
             .set_string_param("region");
       },
       "output 'x': parameter 'shared_memory_region': shared memory is not "
       "supported",
       absl::StatusCode::kUnimplemented},
      {"input in shared memory",
       [](auto& r) {
         (*r.mutable_inputs(0)->mutable_parameters())["shared_memory_region"]
             .set_string_param("region");
       },
       "input 'a': parameter 'shared_memory_region'",
       absl::StatusCode::kUnimplemented},
  };
}

std::vector<WrongCase> WrongParameters() {
  constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
  return {
      {"timeout as text",
       [](auto& r) { Parameter(r, "timeout").set_string_param("1"); },
       "invalid value type for 'timeout' parameter, expected int64_param"},
      {"timeout without a value", [](auto& r) { Parameter(r, "timeout"); },
       "expected int64_param"},
      {"negative timeout",
       [](auto& r) { Parameter(r, "timeout").set_int64_param(-1); }, "got -1"},
      {"timeout past all time",
       [](auto& r) { Parameter(r, "timeout").set_int64_param(kHuge); },
       "microseconds, got 9223372036854775807"},
      {"priority as text",
       [](auto& r) { Parameter(r, "priority").set_string_param("high"); },
       "invalid value type for 'priority' parameter, expected uint64_param"},
      {"negative priority",
       [](auto& r) { Parameter(r, "priority").set_int64_param(-2); },
       "expected at least 0, got -2"},
      {"sequence",
       [](auto& r) { Parameter(r, "sequence_id").set_int64_param(1); },
       "sequences are not supported", kUnimplemented},
      {"sequence of a name",
       [](auto& r) { Parameter(r, "sequence_id").set_string_param("s"); },
       "sequences are not supported", kUnimplemented},
      {"sequence of a fraction",
       [](auto& r) { Parameter(r, "sequence_id").set_double_param(1); },
       "expected int64_param or string_param"},
      {"begin of a sequence",
       [](auto& r) { Parameter(r, "sequence_start").set_bool_param(true); },
       "parameter 'sequence_start': sequences are not supported",
       kUnimplemented},
      {"end of a sequence as a number",
       [](auto& r) { Parameter(r, "sequence_end").set_int64_param(1); },
       "expected bool_param"},
      {"empty final response as a number",
       [](auto& r) {
         Parameter(r, "triton_enable_empty_final_response").set_int64_param(1);
       },
       "expected bool_param"},
      {"reserved name",
       [](auto& r) { Parameter(r, "triton_other").set_bool_param(true); },
       "names that begin with 'triton_' are reserved"},
  };
}

class InferDecoderWrongTest : public ::testing::TestWithParam<WrongCase> {};

TEST_P(InferDecoderWrongTest, IsRefusedWithWhatWasExpectedAndFound) {
  ModelInferRequest message = RightRequest();
  GetParam().spoil(message);
  const Decoded decoded(message);
  EXPECT_EQ(decoded.status.code(), GetParam().code) << decoded.status;
  EXPECT_THAT(std::string(decoded.status.message()),
              HasSubstr(GetParam().message))
      << GetParam().what;
}

std::string CaseName(const ::testing::TestParamInfo<WrongCase>& info) {
  std::string name = info.param.what;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Inputs, InferDecoderWrongTest,
                         ::testing::ValuesIn(WrongInputs()), CaseName);
INSTANTIATE_TEST_SUITE_P(ContentsAndOutputs, InferDecoderWrongTest,
                         ::testing::ValuesIn(WrongContentsOrOutputs()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Parameters, InferDecoderWrongTest,
                         ::testing::ValuesIn(WrongParameters()), CaseName);

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
  EXPECT_EQ(decoded.decoder.timeout(), Milliseconds(1.5));
}

TEST(InferDecoderTest, LongNamesAreCutInMessages) {
  ModelInferRequest message = RightRequest();
  message.mutable_inputs(1)->set_name(std::string(100'000, 'x'));
  const Decoded decoded(message);
  EXPECT_LT(decoded.status.message().size(), 300u);
}

// --- typed contents --------------------------------------------------------

struct TypedCase {
  DataType type;
  std::function<void(InferTensorContents&)> fill;  // two elements
  std::string bytes;
};

std::vector<TypedCase> TypedCases() {
  return {
      {DataType::kBool,
       [](auto& c) {
         c.add_bool_contents(true);
         c.add_bool_contents(false);
       },
       RawBytes<uint8_t>({1, 0})},
      {DataType::kInt8,
       [](auto& c) {
         c.add_int_contents(-128);
         c.add_int_contents(127);
       },
       RawBytes<int8_t>({-128, 127})},
      {DataType::kInt16,
       [](auto& c) {
         c.add_int_contents(-32768);
         c.add_int_contents(32767);
       },
       RawBytes<int16_t>({-32768, 32767})},
      {DataType::kInt32,
       [](auto& c) {
         c.add_int_contents(INT32_MIN);
         c.add_int_contents(INT32_MAX);
       },
       RawBytes<int32_t>({INT32_MIN, INT32_MAX})},
      {DataType::kInt64,
       [](auto& c) {
         c.add_int64_contents(INT64_MIN);
         c.add_int64_contents(INT64_MAX);
       },
       RawBytes<int64_t>({INT64_MIN, INT64_MAX})},
      {DataType::kUint8,
       [](auto& c) {
         c.add_uint_contents(0);
         c.add_uint_contents(255);
       },
       RawBytes<uint8_t>({0, 255})},
      {DataType::kUint16,
       [](auto& c) {
         c.add_uint_contents(1);
         c.add_uint_contents(65535);
       },
       RawBytes<uint16_t>({1, 65535})},
      {DataType::kUint32,
       [](auto& c) {
         c.add_uint_contents(1);
         c.add_uint_contents(UINT32_MAX);
       },
       RawBytes<uint32_t>({1, UINT32_MAX})},
      {DataType::kUint64,
       [](auto& c) {
         c.add_uint64_contents(1);
         c.add_uint64_contents(UINT64_MAX);
       },
       RawBytes<uint64_t>({1, UINT64_MAX})},
      {DataType::kFp32,
       [](auto& c) {
         c.add_fp32_contents(1.5f);
         c.add_fp32_contents(-0.f);
       },
       RawBytes<float>({1.5f, -0.f})},
      {DataType::kFp64,
       [](auto& c) {
         c.add_fp64_contents(1e300);
         c.add_fp64_contents(-2);
       },
       RawBytes<double>({1e300, -2})},
  };
}

ModelSpec OneInput(DataType type) {
  return {.inputs = {{"a", type, {2}}},
          .outputs = {{"x", type, {2}}},
          .max_batch_size = 4};
}

ModelInferRequest TypedRequest(DataType type) {
  ModelInferRequest message;
  AddInput(message, "a", DataTypeName(type), {1, 2});
  return message;
}

TEST(InferDecoderTest, TypedContentsOfEveryTypeEqualRawOnes) {
  for (const TypedCase& typed : TypedCases()) {
    const ModelSpec spec = OneInput(typed.type);
    ModelInferRequest message = TypedRequest(typed.type);
    typed.fill(*message.mutable_inputs(0)->mutable_contents());
    const Decoded by_field(message, spec);
    ASSERT_TRUE(by_field.status.ok())
        << DataTypeName(typed.type) << ": " << by_field.status;
    EXPECT_EQ(Joined(by_field.request.inputs[0].runs), typed.bytes)
        << DataTypeName(typed.type);
    EXPECT_EQ(by_field.request.bytes, typed.bytes.size());

    ModelInferRequest raw = TypedRequest(typed.type);
    raw.add_raw_input_contents(typed.bytes);
    const Decoded by_bytes(raw, spec);
    ASSERT_TRUE(by_bytes.status.ok()) << by_bytes.status;
    EXPECT_EQ(Joined(by_bytes.request.inputs[0].runs), typed.bytes);
  }
}

TEST(InferDecoderTest, HalfPrecisionIsRawOnly) {
  for (DataType type : {DataType::kFp16, DataType::kBf16}) {
    const ModelSpec spec = OneInput(type);
    ModelInferRequest message = TypedRequest(type);
    message.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
    EXPECT_THAT(std::string(Decoded(message, spec).status.message()),
                HasSubstr("has no typed field, expected raw_input_contents"));
    ModelInferRequest raw = TypedRequest(type);
    raw.add_raw_input_contents("abcd");
    EXPECT_TRUE(Decoded(raw, spec).status.ok());
  }
}

TEST(InferDecoderTest, TypedValueThatDoesNotFitItsTypeIsRefused) {
  const struct {
    DataType type;
    int64_t value;
  } cases[] = {{DataType::kInt8, 128},    {DataType::kInt8, -129},
               {DataType::kInt16, 32768}, {DataType::kInt16, -32769},
               {DataType::kUint8, 256},   {DataType::kUint16, 65536}};
  for (const auto& [type, value] : cases) {
    ModelInferRequest message = TypedRequest(type);
    auto* contents = message.mutable_inputs(0)->mutable_contents();
    for (int64_t element : {int64_t{1}, value}) {
      if (type == DataType::kUint8 || type == DataType::kUint16) {
        contents->add_uint_contents(static_cast<uint32_t>(element));
      } else {
        contents->add_int_contents(static_cast<int32_t>(element));
      }
    }
    EXPECT_THAT(std::string(Decoded(message, OneInput(type)).status.message()),
                AllOf(HasSubstr(std::to_string(value)), HasSubstr("at index 1"),
                      HasSubstr(DataTypeName(type))));
  }
}

TEST(InferDecoderTest, RawBoolThatIsNeitherZeroNorOneIsRefused) {
  ModelInferRequest message = TypedRequest(DataType::kBool);
  message.add_raw_input_contents(std::string("\x01\x02", 2));
  EXPECT_THAT(
      std::string(Decoded(message, OneInput(DataType::kBool)).status.message()),
      HasSubstr("expected bytes of 0 or 1"));
}

TEST(InferDecoderTest, BytesAreNotSupported) {
  ModelInferRequest message = TypedRequest(DataType::kBytes);
  EXPECT_EQ(Decoded(message, OneInput(DataType::kBytes)).status.code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace ferry
