// Tests that InferMessage walks over a message in pieces.
#include "server/codec/infer_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/codec/message_bytes.h"

namespace ferry {
namespace {

using inference::ModelInferRequest;
using ::testing::HasSubstr;

ModelInferRequest SomeRequest() {
  ModelInferRequest request;
  request.set_model_name("model");
  request.set_model_version("3");
  request.set_id("request-1");
  (*request.mutable_parameters())["timeout"].set_int64_param(5);
  for (const char* name : {"a", "b"}) {
    auto* input = request.add_inputs();
    input->set_name(name);
    input->set_datatype("FP32");
    input->add_shape(1);
    input->add_shape(300);
  }
  request.add_outputs()->set_name("c");
  request.add_raw_input_contents(std::string(200, 'x'));
  request.add_raw_input_contents(std::string("yz"));
  return request;
}

// What Parse() found, put together again.
std::string Reassembled(const InferMessage& message) {
  ModelInferRequest all = message.fields();
  for (size_t i = 0; i < message.raw_count(); ++i) {
    const std::string raw = Joined(message.raw(i));
    EXPECT_EQ(raw.size(), message.raw_bytes(i));
    all.add_raw_input_contents(raw);
  }
  for (int i = 0; i < all.inputs_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (message.has_typed(at)) {
      EXPECT_TRUE(all.mutable_inputs(i)->mutable_contents()->ParseFromString(
          Joined(message.typed_pieces(at))));
    }
  }
  return all.DebugString();
}

TEST(InferMessageTest, WholeMessageIsRead) {
  InferMessage message;
  const MessageBytes bytes(SomeRequest().SerializeAsString());
  ASSERT_TRUE(message.Parse(bytes.segments()).ok());
  EXPECT_EQ(Reassembled(message), SomeRequest().DebugString());
  EXPECT_TRUE(message.fields().raw_input_contents().empty());
}

TEST(InferMessageTest, MessageSplitAnywhereIsReadAlike) {
  const std::string bytes = SomeRequest().SerializeAsString();
  InferMessage message;
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const MessageBytes split(bytes, {cut});
    ASSERT_TRUE(message.Parse(split.segments()).ok()) << "cut at " << cut;
    ASSERT_EQ(Reassembled(message), SomeRequest().DebugString())
        << "cut at " << cut;
  }
}

TEST(InferMessageTest, MessageInTinyPiecesWithEmptyOnesIsReadAlike) {
  const std::string bytes = SomeRequest().SerializeAsString();
  for (size_t size : {1, 2, 3, 7}) {
    std::vector<size_t> sizes;
    for (size_t at = 0; at < bytes.size(); at += size) {
      sizes.push_back(size);
      sizes.push_back(0);
    }
    const MessageBytes split(bytes, sizes);
    InferMessage message;
    ASSERT_TRUE(message.Parse(split.segments()).ok()) << "pieces of " << size;
    EXPECT_EQ(Reassembled(message), SomeRequest().DebugString());
  }
}

TEST(InferMessageTest, TruncatedMessageIsRefusedOrShorterEverywhere) {
  const std::string bytes = SomeRequest().SerializeAsString();
  InferMessage message;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const MessageBytes cut(bytes.substr(0, size));
    const absl::Status status = message.Parse(cut.segments());
    ModelInferRequest reference;
    EXPECT_EQ(status.ok(), reference.ParseFromString(bytes.substr(0, size)))
        << "cut at " << size << ": " << status;
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    }
  }
}

ModelInferRequest TypedRequest() {
  ModelInferRequest request = SomeRequest();
  request.clear_raw_input_contents();
  for (int i = 0; i < 50; ++i) {
    request.mutable_inputs(0)->mutable_contents()->add_int64_contents(i);
    request.mutable_inputs(0)->mutable_contents()->add_bytes_contents("ab");
  }
  request.mutable_inputs(1)->mutable_contents();
  return request;
}

TEST(InferMessageTest, TypedContentsAreFoundAndCountedWhereverTheMessageIsCut) {
  const std::string bytes = TypedRequest().SerializeAsString();
  InferMessage message;
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const MessageBytes split(bytes, {cut});
    ASSERT_TRUE(message.Parse(split.segments()).ok()) << "cut at " << cut;
    ASSERT_EQ(Reassembled(message), TypedRequest().DebugString())
        << "cut at " << cut;
    ASSERT_FALSE(message.fields().inputs(0).has_contents());
    ASSERT_EQ(message.typed(0).elements[3], 50);
    ASSERT_EQ(message.typed(0).elements[8], 50);
    ASSERT_TRUE(message.has_typed(1));
  }
}

TEST(InferMessageTest, TruncatedTypedContentsAreRefusedOrShorterEverywhere) {
  const std::string bytes = TypedRequest().SerializeAsString();
  InferMessage message;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const MessageBytes cut(bytes.substr(0, size));
    ModelInferRequest reference;
    EXPECT_EQ(message.Parse(cut.segments()).ok(),
              reference.ParseFromString(bytes.substr(0, size)))
        << "cut at " << size;
  }
}

// Contents that come in several messages are merged.
TEST(InferMessageTest, SeveralContentsOfAnInputAreOne) {
  std::string input = TypedRequest().inputs(0).SerializeAsString();
  input += input;
  std::string bytes("\x2a");
  for (size_t left = input.size(); left > 0; left >>= 7) {
    bytes.push_back(static_cast<char>((left & 0x7f) | (left > 0x7f ? 128 : 0)));
  }
  bytes += input;
  const MessageBytes whole(bytes);
  InferMessage message;
  ASSERT_TRUE(message.Parse(whole.segments()).ok());
  ModelInferRequest reference;
  ASSERT_TRUE(reference.ParseFromString(bytes));
  EXPECT_EQ(Reassembled(message), reference.DebugString());
  EXPECT_EQ(message.typed(0).elements[3], 100);
}

TEST(InferMessageTest, RepeatedFieldsWithTypedContentsAreNotRepeated) {
  InferMessage message;
  const MessageBytes raw(SomeRequest().SerializeAsString());
  ModelInferRequest both = SomeRequest();
  both.mutable_inputs(0)->mutable_contents();
  const MessageBytes with_contents(both.SerializeAsString());
  ASSERT_TRUE(message.Parse(raw.segments()).ok());
  ASSERT_TRUE(message.Parse(with_contents.segments()).ok());
  EXPECT_FALSE(message.is_repeated()) << "the contents have to be looked at";
  ASSERT_TRUE(message.Parse(raw.segments()).ok());
  EXPECT_TRUE(message.is_repeated());
}

TEST(InferMessageTest, FieldsInAnyOrderAreRead) {
  ModelInferRequest first;
  first.add_raw_input_contents("raw 1");
  ModelInferRequest second;
  second.set_model_name("model");
  second.add_inputs()->set_name("a");
  ModelInferRequest third;
  third.add_raw_input_contents("raw 2");
  third.set_id("id");
  const MessageBytes bytes(first.SerializeAsString() +
                           second.SerializeAsString() +
                           third.SerializeAsString());
  InferMessage message;
  ASSERT_TRUE(message.Parse(bytes.segments()).ok());
  EXPECT_EQ(message.fields().model_name(), "model");
  EXPECT_EQ(message.fields().id(), "id");
  ASSERT_EQ(message.raw_count(), 2u);
  EXPECT_EQ(Joined(message.raw(0)), "raw 1");
  EXPECT_EQ(Joined(message.raw(1)), "raw 2");
}

TEST(InferMessageTest, UnknownFieldsArePassedOver) {
  std::string bytes = SomeRequest().SerializeAsString();
  bytes += std::string(
      "\xa2\x06\x03"
      "abc",
      6);                                   // field 100, bytes
  bytes += std::string("\xa8\x06\x07", 3);  // field 101, varint
  bytes += std::string(
      "\xb1\x06"
      "12345678",
      10);  // field 102, fixed64
  bytes += std::string(
      "\xbd\x06"
      "1234",
      6);                               // field 103, fixed32
  bytes += std::string("\x38\x01", 2);  // field 7 as varint
  const MessageBytes whole(bytes);
  InferMessage message;
  ASSERT_TRUE(message.Parse(whole.segments()).ok());
  EXPECT_EQ(Reassembled(message), SomeRequest().DebugString());
}

TEST(InferMessageTest, MalformedWireIsRefused) {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"field number 0", std::string("\x02\x00", 2)},
      {"wire type 6", "\x0e"},
      {"wire type 7", "\x0f"},
      {"group", "\x0b"},
      {"end of a group", "\x0c"},
      {"varint of 11 bytes",
       "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"},
      {"varint past 64 bits", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"},
      {"tag past 32 bits", "\xff\xff\xff\xff\xff\x01"},
      {"tag of 6 bytes", std::string("\xba\x80\x80\x80\x80\x00\x01x", 8)},
      {"length of 6 bytes", std::string("\x3a\x81\x80\x80\x80\x80\x00x", 8)},
      {"length past the end",
       "\x3a\x05"
       "abc"},
      {"length of 2^63", "\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"},
      {"length past 64 bits", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
      {"name that is no UTF-8", "\x0a\x02\xc3\x28"},
      {"input cut short", std::string("\x2a\x02\x0a\x09", 4)},
      {"name past its input",
       "\x2a\x02\x0a\x03"
       "abc"},
      {"contents past their input",
       "\x2a\x02\x2a\x03"
       "abc"},
      {"element past its contents",
       "\x2a\x04\x2a\x02\x42\x03"
       "abc"},
      {"float cut short",
       "\x2a\x07\x2a\x05\x32\x03"
       "abc"},
      {"varint cut short", "\x2a\x05\x2a\x03\x1a\x01\x80"},
      {"group in an input", "\x2a\x02\x3b\x3c"},
  };
  for (const auto& [what, bytes] : cases) {
    InferMessage message;
    const MessageBytes whole(bytes);
    const absl::Status status = message.Parse(whole.segments());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << what;
  }
}

TEST(InferMessageTest, MoreTensorsThanTheBoundAreRefused) {
  ModelInferRequest inputs;
  ModelInferRequest raws;
  for (size_t i = 0; i < InferMessage::kMaxTensors; ++i) {
    inputs.add_inputs();
    raws.add_raw_input_contents("");
  }
  InferMessage message;
  EXPECT_TRUE(
      message.Parse(MessageBytes(inputs.SerializeAsString()).segments()).ok());
  EXPECT_TRUE(
      message.Parse(MessageBytes(raws.SerializeAsString()).segments()).ok());
  inputs.add_inputs();
  raws.add_raw_input_contents("");
  EXPECT_THAT(message.Parse(MessageBytes(inputs.SerializeAsString()).segments())
                  .ToString(),
              HasSubstr("expected at most 1024, got more"));
  EXPECT_THAT(message.Parse(MessageBytes(raws.SerializeAsString()).segments())
                  .ToString(),
              HasSubstr("expected at most 1024, got more"));
}

TEST(InferMessageTest, FieldsThatSayNothingAreBounded) {
  const std::string id("\x1a\x00", 2);
  std::string ids;
  for (size_t i = 0; i < InferMessage::kMaxFields; ++i) {
    ids += id;
  }
  InferMessage message;
  EXPECT_TRUE(message.Parse(MessageBytes(ids).segments()).ok());
  ids += id;
  std::string contents("\x2a\x84\x80\x10", 4);  // an input of 2^18 + 4 bytes
  for (size_t i = 0; i <= InferMessage::kMaxFields; ++i) {
    contents += std::string("\x2a\x02\x12\x00", 4);
  }
  for (const std::string& bytes : {ids, contents}) {
    EXPECT_THAT(
        message.Parse(MessageBytes(bytes).segments()).ToString(),
        HasSubstr("fields of the request and of its tensors: expected at most "
                  "65536, got more"));
  }
}

TEST(InferMessageTest, ParametersOfAllTensorsAreBoundedTogether) {
  ModelInferRequest request = SomeRequest();  // has one
  for (size_t i = 0; i < InferMessage::kMaxTensors - 1; ++i) {
    auto* parameters = i % 3 == 0 ? request.mutable_parameters()
                       : i % 3 == 1
                           ? request.mutable_inputs(1)->mutable_parameters()
                           : request.mutable_outputs(0)->mutable_parameters();
    (*parameters)["p" + std::to_string(i)].set_int64_param(1);
  }
  InferMessage message;
  const MessageBytes most(request.SerializeAsString());
  EXPECT_TRUE(message.Parse(most.segments()).ok());
  (*request.mutable_inputs(0)->mutable_parameters())["one more"];
  const MessageBytes more(request.SerializeAsString());
  EXPECT_THAT(message.Parse(more.segments()).ToString(),
              HasSubstr("parameters: expected at most 1024, got more"));
}

TEST(InferMessageTest, MoreTypedContentsThanTheBoundAreRefused) {
  ModelInferRequest request = SomeRequest();
  request.mutable_inputs(1)->mutable_contents()->add_bytes_contents(
      std::string(InferMessage::kMaxTypedBytes - 5, 'x'));
  InferMessage message;
  const MessageBytes most(request.SerializeAsString());
  EXPECT_TRUE(message.Parse(most.segments()).ok());
  request.mutable_inputs(0)->mutable_contents()->add_bool_contents(true);
  const MessageBytes more(request.SerializeAsString());
  EXPECT_THAT(message.Parse(more.segments()).ToString(),
              HasSubstr("typed contents: expected at most 16777216 bytes"));
}

TEST(InferMessageTest, MoreFieldBytesThanTheBoundAreRefused) {
  ModelInferRequest request;
  request.set_id(std::string(InferMessage::kMaxFieldBytes, 'x'));
  InferMessage message;
  const MessageBytes bytes(request.SerializeAsString());
  EXPECT_EQ(message.Parse(bytes.segments()).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(InferMessageTest, SmallFieldsOfTheLastMessageAreKnownAgain) {
  InferMessage message;
  ModelInferRequest request = SomeRequest();
  const auto parse = [&] {
    const MessageBytes bytes(request.SerializeAsString());
    EXPECT_TRUE(message.Parse(bytes.segments()).ok());
    EXPECT_EQ(Reassembled(message), request.DebugString());
  };
  parse();
  EXPECT_FALSE(message.is_repeated());
  request.set_id("request-2");
  *request.mutable_raw_input_contents(0) = "another";
  message.Clear();
  parse();
  EXPECT_TRUE(message.is_repeated()) << "but for id and raw contents";
  request.clear_id();
  parse();
  EXPECT_TRUE(message.is_repeated());
  request.set_id("\xc3\xa4");
  parse();
  EXPECT_FALSE(message.is_repeated()) << "protobuf looks at its letters";
  parse();
  EXPECT_FALSE(message.is_repeated());
  request.set_id("3");
  parse();
  request.mutable_inputs(0)->set_shape(1, 301);
  parse();
  EXPECT_FALSE(message.is_repeated());
}

TEST(InferMessageTest, MalformedMessageLeavesNothingToRepeat) {
  InferMessage message;
  const std::string right = SomeRequest().SerializeAsString();
  const MessageBytes good(right);
  ASSERT_TRUE(message.Parse(good.segments()).ok());
  const MessageBytes cut(right.substr(0, right.size() - 1));
  ASSERT_FALSE(message.Parse(cut.segments()).ok());
  ASSERT_TRUE(message.Parse(good.segments()).ok());
  EXPECT_FALSE(message.is_repeated());
  EXPECT_EQ(Reassembled(message), SomeRequest().DebugString());
}

TEST(InferMessageTest, NothingOfTheLastMessageIsSaidOfAMalformedOne) {
  InferMessage message;
  const MessageBytes good(SomeRequest().SerializeAsString());
  ASSERT_TRUE(message.Parse(good.segments()).ok());
  message.Clear();
  EXPECT_EQ(message.fields().id(), "");
  const MessageBytes malformed("\x0a");
  ASSERT_FALSE(message.Parse(malformed.segments()).ok());
  EXPECT_EQ(message.fields().ByteSizeLong(), 0u);
}

TEST(InferMessageTest, TheLastOfSeveralIdsCounts) {
  InferMessage message;
  ModelInferRequest with_letters = SomeRequest();
  with_letters.set_id("\xc3\xa4");
  ModelInferRequest only_id;
  only_id.set_id("1");
  const MessageBytes two(with_letters.SerializeAsString() +
                         only_id.SerializeAsString());
  ASSERT_TRUE(message.Parse(two.segments()).ok());
  EXPECT_EQ(message.fields().id(), "1");
  const MessageBytes one(with_letters.SerializeAsString());
  ASSERT_TRUE(message.Parse(one.segments()).ok());
  EXPECT_EQ(message.fields().id(), "\xc3\xa4");
}

TEST(InferMessageTest, NextMessageReplacesTheLast) {
  InferMessage message;
  const MessageBytes first(SomeRequest().SerializeAsString());
  ASSERT_TRUE(message.Parse(first.segments()).ok());
  const MessageBytes empty("");
  ASSERT_TRUE(message.Parse(empty.segments()).ok());
  EXPECT_EQ(message.raw_count(), 0u);
  EXPECT_EQ(message.fields().ByteSizeLong(), 0u);
}

}  // namespace
}  // namespace ferry
