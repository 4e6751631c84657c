// Tests typed contents of every type against raw ones.
#include "server/codec/typed_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/server/codec/codec_requests.h"

namespace ferry {
namespace {

using inference::InferTensorContents;
using ::testing::AllOf;
using ::testing::HasSubstr;

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
    EXPECT_EQ(Joined(by_field.request.inputs[0].segments), typed.bytes)
        << DataTypeName(typed.type);
    EXPECT_EQ(by_field.request.bytes, typed.bytes.size());

    ModelInferRequest raw = TypedRequest(typed.type);
    raw.add_raw_input_contents(typed.bytes);
    const Decoded by_bytes(raw, spec);
    ASSERT_TRUE(by_bytes.status.ok()) << by_bytes.status;
    EXPECT_EQ(Joined(by_bytes.request.inputs[0].segments), typed.bytes);
  }
}

// Protobuf reads elements packed and one by one, and several messages as one.
TEST(InferDecoderTest, TypedContentsAreReadHoweverTheyAreWritten) {
  const struct {
    DataType type;
    std::string contents;
    std::string bytes;
  } cases[] = {
      {DataType::kInt64,
       {"\x18\x05\x18\x80\x01", 5},
       RawBytes<int64_t>({5, 128})},
      {DataType::kInt32,
       {"\x10\x05\x12\x01\x06", 5},
       RawBytes<int32_t>({5, 6})},
      {DataType::kFp32,
       {"\x35\0\0\x80\x3f\x32\4\0\0\0\x40", 11},
       RawBytes<float>({1, 2})},
      {DataType::kBool, {"\x08\x02\x08\x00", 4}, RawBytes<uint8_t>({1, 0})},
      {DataType::kFp64, {"\x3a\0", 2}, ""},
      // An unknown field, and a known one of another kind, are passed over.
      {DataType::kBool,
       {"\x7a\1x\x0d\1\1\1\1\x0a\2\1\1", 12},
       RawBytes<uint8_t>({1, 1})},
  };
  for (const auto& [type, contents, bytes] : cases) {
    ModelInferRequest message = TypedRequest(type);
    const std::string input = message.inputs(0).SerializeAsString() + "\x2a" +
                              static_cast<char>(contents.size()) + contents;
    message.clear_inputs();
    const MessageBytes pieces(
        "\x2a" + std::string(1, static_cast<char>(input.size())) + input);
    inference::ModelInferRequest reference;
    ASSERT_EQ(reference.ParseFromString(Joined(pieces.segments())), true);
    InferDecoder decoder;
    InferRequest request;
    const ModelSpec spec = OneInput(type);
    ASSERT_TRUE(decoder.Parse(pieces.segments()).ok()) << DataTypeName(type);
    const absl::Status status =
        decoder.Bind({ModelName(), spec, kSerial}, request);
    ASSERT_EQ(status.ok(), !bytes.empty()) << DataTypeName(type) << status;
    if (status.ok()) {
      EXPECT_EQ(Joined(request.inputs[0].segments), bytes)
          << DataTypeName(type);
    }
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

TEST(TypedContentsTest, EmptyPackedFieldOfAnotherTypeIsNoElement) {
  const std::string empty("\x0a\x00\x12\x00\x1a\x00\x32\x00\x3a\x00", 10);
  const struct {
    std::string wire;
    int64_t count;
    std::string expected;
  } cases[] = {{empty + empty, 0, ""},
               {empty + "\x42\x01" + "a" + empty, 1,
                std::string("\x01\x00\x00\x00"
                            "a",
                            5)}};
  for (const auto& [wire, count, expected] : cases) {
    const ByteSegment segment{reinterpret_cast<const std::byte*>(wire.data()),
                              wire.size()};
    TypedContents contents;
    ASSERT_TRUE(contents.Count(absl::MakeConstSpan(&segment, 1)));
    std::vector<std::byte> bytes;
    const auto copied = TypedSegment(contents, absl::MakeConstSpan(&segment, 1),
                                     DataType::kBytes, count, bytes);
    ASSERT_TRUE(copied.ok()) << copied.status();
    EXPECT_EQ(
        std::string(reinterpret_cast<const char*>(copied->data), copied->size),
        expected);
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

}  // namespace
}  // namespace ferry
