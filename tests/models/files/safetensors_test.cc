// Tests that SafetensorsFile reads good files and refuses every broken one.
#include "models/files/safetensors.h"

#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Size(uint64_t size) {
  std::string bytes(sizeof(size), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  return bytes;
}

std::string File(const std::string& header, size_t data_bytes) {
  return Size(header.size()) + header + std::string(data_bytes, '\x01');
}

absl::StatusOr<std::string> Read(const SafetensorsFile& file,
                                 const SafetensorsTensor& tensor) {
  std::string bytes(tensor.size, '\0');
  const absl::Status status = file.Read(
      tensor, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
  return status.ok() ? absl::StatusOr<std::string>(bytes) : status;
}

absl::StatusOr<std::unique_ptr<SafetensorsFile>> OpenBytes(
    const std::string& bytes) {
  const TempFolder folder;
  return SafetensorsFile::Open(folder.Write("weights.safetensors", bytes));
}

TEST(SafetensorsTest, ReadsTensorsInTheOrderOfTheirBytes) {
  const auto file = OpenBytes(
      File(R"({"__metadata__":{"format":"pt"},)"
           R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
           R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
           R"("empty":{"dtype":"I64","shape":[0,5],"data_offsets":[28,28]},)"
           R"("scalar":{"dtype":"U8","shape":[],"data_offsets":[28,29]}})",
           29));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->tensors().size(), 4u);
  EXPECT_EQ((*file)->tensors()[0].name, "a");
  const SafetensorsTensor* const b = (*file)->Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->type, DataType::kFp32);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(*Read(**file, *b), std::string(24, '\x01'));
  EXPECT_EQ(*Read(**file, *(*file)->Find("scalar")), "\x01");
  EXPECT_EQ(*Read(**file, *(*file)->Find("empty")), "");
  EXPECT_EQ((*file)->Find("c"), nullptr);
}

// A mapped file would end the process with SIGBUS.
TEST(SafetensorsTest, FileThatIsCutWhileItIsOpenIsAnError) {
  const TempFolder folder;
  const std::string bytes =
      File(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
           R"("b":{"dtype":"U8","shape":[99996],"data_offsets":[4,100000]}})",
           100000);
  const std::string path = folder.Write("weights.safetensors", bytes);
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::resize_file(path, bytes.size() - 99996);
  EXPECT_TRUE(Read(**file, (*file)->tensors()[0]).ok());
  const auto lost = Read(**file, (*file)->tensors()[1]);
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(lost.status().message()),
              AllOf(HasSubstr("tensor 'b'"), HasSubstr("got 0: it was cut")));
  std::filesystem::resize_file(path, bytes.size() - 50000);
  EXPECT_THAT(
      std::string(Read(**file, (*file)->tensors()[1]).status().message()),
      HasSubstr("expected 99996 bytes from byte"));
}

TEST(SafetensorsTest, WhatIsNoFileIsRefused) {
  EXPECT_EQ(SafetensorsFile::Open("/no/such/file").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(SafetensorsFile::Open("/").status().code(),
            absl::StatusCode::kInvalidArgument);
}

struct Corruption {
  std::string what;
  std::string bytes;
  std::string message;
};

class SafetensorsCorruptionTest : public testing::TestWithParam<Corruption> {};

TEST_P(SafetensorsCorruptionTest, IsRefusedWithItsReason) {
  const auto file = OpenBytes(GetParam().bytes);
  ASSERT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument)
      << file.status();
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr(GetParam().message));
}

std::string One(const std::string& about, size_t data_bytes) {
  return File(R"({"w":)" + about + "}", data_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsCorruptionTest,
    testing::Values(
        Corruption{"Empty", "", "expected at least 8 bytes, got 0"},
        Corruption{"Short", "abc", "expected at least 8 bytes, got 3"},
        Corruption{"HeaderPastEnd", Size(100) + "{}", "at most 2 bytes"},
        Corruption{"HeaderHuge", Size(~uint64_t{0}) + "{}", "at most 2 bytes"},
        Corruption{"NoJson", File("not json", 0), "one JSON object"},
        Corruption{"NoObject", File("[1]", 0), "one JSON object"},
        Corruption{"EmptyHeader", Size(0), "one JSON object"},
        Corruption{"TooDeep", File(R"({"w":{"shape":[[[[1]]]]}})", 0),
                   "deeper than 3"},
        Corruption{
            "NameTwice",
            File(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                 1),
            "'w' twice"},
        Corruption{"NoTensor", One("5", 0), "'w': expected a JSON object"},
        Corruption{"NoType", One(R"({"shape":[1],"data_offsets":[0,1]})", 1),
                   "dtype: expected a string"},
        Corruption{
            "OtherType",
            One(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]})", 1),
            "got 'F8_E4M3'"},
        Corruption{"NoShape", One(R"({"dtype":"U8","data_offsets":[0,1]})", 1),
                   "shape: expected an array"},
        Corruption{
            "NegativeDim",
            One(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", 1),
            "got -1"},
        Corruption{
            "FractionalDim",
            One(R"({"dtype":"U8","shape":[1.5],"data_offsets":[0,1]})", 1),
            "got 1.5"},
        Corruption{
            "DimPast63Bits",
            One(R"({"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]})",
                1),
            "from 0 to 2^63 - 1"},
        Corruption{
            "ProductOverflows",
            One(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})",
                4),
            "needs too many bytes"},
        Corruption{
            "BytesOverflow",
            One(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,8]})",
                8),
            "needs too many bytes"},
        Corruption{
            "RankTooHigh",
            One(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]})",
                1),
            "at most 8 dimensions, got 9"},
        Corruption{"OneOffset",
                   One(R"({"dtype":"U8","shape":[1],"data_offsets":[0]})", 1),
                   "expected [begin, end]"},
        Corruption{"OffsetsBackward",
                   One(R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})", 1),
                   "got [1, 0]"},
        Corruption{"OffsetPastEnd",
                   One(R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})", 1),
                   "within 1 bytes"},
        Corruption{
            "SizeMismatch",
            One(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "needs 8 bytes, data_offsets give 4"},
        Corruption{"Gap",
                   One(R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]})", 2),
                   "begins at byte 1 of the data, expected 0"},
        Corruption{
            "Overlap",
            File(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                 3),
            "neither overlap nor gap"},
        Corruption{"SurplusBytes",
                   One(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})", 9),
                   "end at byte 1 of the data, expected 9"}),
    [](const auto& corruption) { return corruption.param.what; });

}  // namespace
}  // namespace ferry
