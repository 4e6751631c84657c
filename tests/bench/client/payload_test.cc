// Tests real inputs from JSON, folders and arrays of NumPy, and what is wrong
// in them.
#include "bench/client/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tensor/bytes_elements.h"

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Inputs = std::vector<InputSpec>;

InputSpec Input(const char* name, DataType type, std::vector<int64_t> dims) {
  return {name, type, std::move(dims), true, false};
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

absl::StatusOr<std::vector<Sample>> FromJson(const std::string& text,
                                             const Inputs& inputs) {
  return ParseJsonPayload(text, "data.json", inputs);
}

std::string ErrorOf(const absl::StatusOr<std::vector<Sample>>& samples) {
  EXPECT_FALSE(samples.ok());
  return std::string(samples.status().message());
}

TEST(PayloadTest, JsonHasAnEntryForEachSample) {
  const Inputs inputs = {Input("x", DataType::kFp32, {2}),
                         Input("ids", DataType::kInt64, {1})};
  const auto samples = FromJson(R"({"data": [
      {"x": [1, 2.5], "ids": [-7]},
      {"x": {"content": [[3, 4]], "shape": [2]}, "ids": {"content": [8]}}]})",
                                inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_THAT(*samples, SizeIs(2));
  EXPECT_EQ((*samples)[0].at("x").bytes, BytesOf<float>({1, 2.5}));
  EXPECT_EQ((*samples)[0].at("ids").bytes, BytesOf<int64_t>({-7}));
  EXPECT_EQ((*samples)[1].at("x").bytes, BytesOf<float>({3, 4}));
  EXPECT_THAT((*samples)[1].at("x").dims, ElementsAre(2));
}

TEST(PayloadTest, JsonHasBase64TextsStreamsAndOtherTypes) {
  const Inputs inputs = {
      Input("raw", DataType::kInt16, {2}), Input("text", DataType::kBytes, {1}),
      Input("half", DataType::kFp16, {1}), Input("flag", DataType::kBool, {1})};
  const std::string entry =
      R"({"raw": {"b64": "AQACAA=="}, "text": ["h\u00e9"], "half": [0.5],
          "flag": [true]})";
  const auto samples =
      FromJson(R"({"data": [[)" + entry + "," + entry + "], [" + entry +
                   R"(]], "validation_data": []})",
               inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_THAT(*samples, SizeIs(3));
  EXPECT_EQ(samples->front().at("raw").bytes, BytesOf<int16_t>({1, 2}));
  std::string text;
  AppendBytesElement("h\xc3\xa9", text);
  EXPECT_EQ(samples->front().at("text").bytes, text);
  EXPECT_EQ(samples->front().at("half").bytes, BytesOf<uint16_t>({0x3800}));
  EXPECT_EQ(samples->front().at("flag").bytes, BytesOf<uint8_t>({1}));
}

TEST(PayloadTest, ShapesAreGivenOrFollowFromTheCount) {
  const Inputs one = {Input("x", DataType::kUint8, {3, -1})};
  auto samples = FromJson(R"({"data": [{"x": [1, 2, 3, 4, 5, 6]}]})", one);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(samples->front().at("x").dims, ElementsAre(3, 2));

  const Inputs two = {Input("x", DataType::kUint8, {-1, -1})};
  samples = FromJson(
      R"({"data": [{"x": {"content": [1, 2, 3, 4], "shape": [4, 1]}}]})", two);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(samples->front().at("x").dims, ElementsAre(4, 1));
  EXPECT_THAT(ErrorOf(FromJson(R"({"data": [{"x": [1, 2]}]})", two)),
              HasSubstr("expected a \"shape\", or --shape, for [-1,-1]"));
}

TEST(PayloadTest, ContentsOfSeveralRowsAreAsManySamples) {
  const Inputs inputs = {Input("x", DataType::kUint8, {2}),
                         Input("text", DataType::kBytes, {1})};
  auto samples = FromJson(
      R"({"data": [{"x": [1, 2, 3, 4], "text": ["a", "bcd"]}]})", inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_THAT(*samples, SizeIs(2));
  EXPECT_EQ((*samples)[1].at("x").bytes, BytesOf<uint8_t>({3, 4}));
  std::string text;
  AppendBytesElement("bcd", text);
  EXPECT_EQ((*samples)[1].at("text").bytes, text);
  EXPECT_THAT(ErrorOf(FromJson(
                  R"({"data": [{"x": [1, 2, 3, 4], "text": ["a"]}]})", inputs)),
              HasSubstr("input 'text': expected 2 rows, as of 'x', found 1"));
  // A model without a batch dimension has no rows.
  Inputs whole = {Input("x", DataType::kUint8, {2})};
  whole[0].has_rows = false;
  EXPECT_THAT(ErrorOf(FromJson(R"({"data": [{"x": [1, 2, 3, 4]}]})", whole)),
              HasSubstr("expected 2 elements of UINT8 [2], found 4"));
}

TEST(PayloadTest, WhatIsWrongInJsonIsSaidWithItsPlace) {
  const Inputs inputs = {Input("x", DataType::kInt8, {2})};
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "data.json: expected a JSON object with a list \"data\""},
      {"{\"data\": [{\"x\": [1, 2]}, {\"x\": [1, 2, 3]}]}",
       "entry 2 of \"data\": input 'x': expected 2 elements of INT8 [2], or a "
       "multiple, found 3"},
      {"{\"data\": [{\"x\": [1, 300]}]}",
       "input 'x'[1]: expected an element of INT8, found 300"},
      {"{\"data\": [{\"x\": [[1], [-129]]}]}",
       "input 'x'[1][0]: expected an element of INT8, found -129"},
      {"{\n  \"data\": [{]}",
       "data.json: expected JSON, found a parse error at line 2, column 13"},
      {"{\"data\": [{\"x\": [1, 1e999]}]}",
       "data.json: expected JSON, found a number overflow"},
      {"{\"data\": [{\"x\": [1, \"2\"]}]}", "found \"2\""},
      {"{\"data\": [{\"x\": 1}]}", "expected a list, {\"b64\": ..}"},
      {"{\"data\": [{}]}", "input 'x': expected its contents, found none"},
      {"{\"data\": [{\"x\": [1, 2], \"y\": [1]}]}",
       "expected names of inputs, found 'y'"},
      {"{\"data\": [{\"x\": {\"b64\": \"?\"}}]}", "expected base64"},
      {"{\"data\": [{\"x\": {\"content\": [1, 2], \"shape\": [3]}}]}",
       "expected a shape of [2] with or without rows before it, found [3]"},
      {"{\"data\": [{\"x\": {\"content\": [1, 2, 3], \"shape\": [1, 2]}}]}",
       "expected 2 elements of shape [1,2], found 3"},
      {"{\"data\": [7]}", "expected an object with a member for each input"}};
  for (const auto& [text, error] : wrong) {
    EXPECT_THAT(ErrorOf(FromJson(text, inputs)), HasSubstr(error)) << text;
  }
}

std::string Nested(int levels) {
  return std::string(static_cast<size_t>(levels), '[') + "1" +
         std::string(static_cast<size_t>(levels), ']');
}

TEST(PayloadTest, ListsInListsAreBounded) {
  const Inputs inputs = {Input("x", DataType::kInt8, {1})};
  // The document, "data" and the entry are three more.
  const auto samples =
      FromJson("{\"data\": [{\"x\": " + Nested(29) + "}]}", inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->front().at("x").bytes, "\x01");
  for (const int levels : {30, 300000}) {
    const std::string nested = Nested(levels);
    for (const std::string& text :
         {"{\"data\": [{\"x\": " + nested + "}]}",
          "{\"data\": [{\"x\": {\"content\": " + nested + "}}]}",
          "{\"data\": [{\"x\": {\"content\": [1], \"shape\": " + nested +
              "}}]}",
          "{\"data\": [" + Nested(levels + 1) + "]}"}) {
      EXPECT_THAT(ErrorOf(FromJson(text, inputs)),
                  HasSubstr("data.json: expected lists and objects in each "
                            "other 32 deep at most, found more"))
          << levels << ": " << text.substr(0, 40);
    }
  }
}

// Rows of no elements are as many as a shape says.
TEST(PayloadTest, RowsAreBoundedWithoutContentsToo) {
  const Inputs inputs = {Input("x", DataType::kUint8, {-1})};
  const auto samples = FromJson(
      R"({"data": [{"x": {"content": [], "shape": [3, 0]}}]})", inputs);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(*samples, SizeIs(3));
  for (const char* rows : {"4194305", "1000000000000"}) {
    EXPECT_THAT(
        ErrorOf(FromJson(
            absl::StrCat(R"({"data": [{"x": [1]}, {"x": )",
                         R"({"content": [], "shape": [)", rows, ", 0]}}]}"),
            inputs)),
        HasSubstr(absl::StrCat("entry 2 of \"data\": input 'x': expected "
                               "4194304 rows in all at most, found ",
                               rows, " beside 1")));
  }
}

TEST(PayloadTest, LengthsOfTextsMustAddUp) {
  const Inputs inputs = {Input("x", DataType::kBytes, {1})};
  EXPECT_THAT(
      ErrorOf(FromJson(R"({"data": [{"x": {"b64": "BQAAAGE="}}]})", inputs)),
      HasSubstr("lengths that do not add up"));
}

// A file of NumPy 1.0 as numpy.save() writes it.
std::string Npy(const std::string& type, const std::string& shape,
                const std::string& elements,
                const std::string& fortran = "False") {
  const std::string header = "{'descr': '" + type +
                             "', 'fortran_order': " + fortran + ", 'shape': (" +
                             shape + "), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + elements;
}

TEST(PayloadTest, NumpyArraysHaveTypeShapeAndElements) {
  const std::string floats = BytesOf<float>({1, 2, 3});
  auto contents = ParseNpy(Npy("<f4", "3, 1", floats), DataType::kFp32);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_THAT(*contents->shape, ElementsAre(3, 1));
  EXPECT_EQ(contents->bytes, floats);
  contents = ParseNpy(Npy("<f4", "3,", floats), DataType::kBf16);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->bytes, BytesOf<uint16_t>({0x3f80, 0x4000, 0x4040}));
  contents = ParseNpy(Npy("|u1", "", "\x07"), DataType::kUint8);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_THAT(*contents->shape, IsEmpty());
}

TEST(PayloadTest, NumpyArraysOfNoElementsAreBoundedToo) {
  auto contents =
      ParseNpy(Npy("|u1", "1000000000000, 0", ""), DataType::kUint8);
  ASSERT_TRUE(contents.ok()) << contents.status();
  std::vector<Sample> samples;
  const absl::Status status =
      AppendSamples({Input("x", DataType::kUint8, {-1})},
                    {{"x", *std::move(contents)}}, "folder", samples);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expected 4194304 rows in all at most, found "
                        "1000000000000 beside 0"));
  EXPECT_THAT(samples, IsEmpty());
}

TEST(PayloadTest, NumpyArraysOfAnotherKindAreRefused) {
  const auto error = [](const std::string& file, DataType type) {
    return std::string(ParseNpy(file, type).status().message());
  };
  EXPECT_THAT(error(Npy("<f8", "1,", "12345678"), DataType::kFp32),
              HasSubstr("expected an array of '<f4' for FP32, found '<f8'"));
  EXPECT_THAT(error(Npy("<f4", "1,", "1234", "True"), DataType::kFp32),
              HasSubstr("row-major"));
  EXPECT_THAT(error(Npy("<U4", "1,", "1234"), DataType::kBytes),
              HasSubstr("a text a line"));
  EXPECT_THAT(error(Npy("<f4", "x", "1234"), DataType::kFp32),
              HasSubstr("expected a shape"));
  const std::string whole = Npy("<f4", "1,", "1234");
  for (size_t size = 0; size < whole.size() - 4; ++size) {
    EXPECT_FALSE(ParseNpy(whole.substr(0, size), DataType::kFp32).ok()) << size;
  }
}

class PayloadFolderTest : public ::testing::Test {
 protected:
  PayloadFolderTest()
      : folder_(
            std::filesystem::path(::testing::TempDir()) /
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PayloadFolderTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& contents) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << contents;
  }

  absl::StatusOr<std::vector<Sample>> Read() {
    return ReadPayload(folder_.string(), inputs_, {"out"});
  }

  const std::filesystem::path folder_;
  const Inputs inputs_ = {Input("x", DataType::kFp32, {2}),
                          Input("text", DataType::kBytes, {1})};
};

TEST_F(PayloadFolderTest, HasAFileForEachInput) {
  Write("x", BytesOf<float>({1, 2, 3, 4}));
  Write("text", "one\ntwo words\n");
  Write("out", "for another tool");
  Write(".hidden", "");
  const auto samples = Read();
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_THAT(*samples, SizeIs(2));
  EXPECT_EQ((*samples)[1].at("x").bytes, BytesOf<float>({3, 4}));
  std::string text;
  AppendBytesElement("two words", text);
  EXPECT_EQ((*samples)[1].at("text").bytes, text);
}

TEST_F(PayloadFolderTest, HasAFolderForEachSample) {
  for (const char* sample : {"2", "1", "3"}) {
    Write(std::string(sample) + "/x.npy",
          Npy("<f4", "2,", BytesOf<float>({1, 2})));
    Write(std::string(sample) + "/text", sample);
  }
  const auto samples = Read();
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_THAT(*samples, SizeIs(3));
  EXPECT_EQ((*samples)[0].at("text").bytes.back(), '1');
  EXPECT_EQ((*samples)[2].at("text").bytes.back(), '3');
}

TEST_F(PayloadFolderTest, WhatIsWrongIsSaidWithItsFile) {
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("expected its contents, found none"));
  Write("text", "one");
  Write("x", "1234567");
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("expected a multiple of 4 bytes for "
                                         "FP32, found 7"));
  Write("x", BytesOf<float>({1, 2}));
  Write("z", "");
  EXPECT_THAT(ErrorOf(Read()),
              HasSubstr("expected files of the names of inputs, found 'z'"));
  std::filesystem::remove(folder_ / "z");
  Write("x.npy", "no array");
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("found two, with and without .npy"));
  std::filesystem::remove(folder_ / "x");
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("x.npy: expected a .npy file"));
  Write("sub/x", "");
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("found both"));
  EXPECT_EQ(ReadPayload("/nowhere.json", inputs_, {}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace ferry::bench
