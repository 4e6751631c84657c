// Tests that the bytes of samples are zeros, drawn, or read from files.
#include "models/config/warm_up_data.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/bytes_elements.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<WarmUpSample> Sample(DataType type, std::vector<int64_t> dims,
                                 WarmUpSample::Data data) {
  WarmUpSample sample;
  sample.inputs["x"] = {.type = type,
                        .dims = std::move(dims),
                        .data = data,
                        .file = "x.bin",
                        .bytes = nullptr};
  return {sample};
}

const std::vector<std::byte>& BytesOf(const std::vector<WarmUpSample>& all) {
  return *all[0].inputs.at("x").bytes;
}

TEST(WarmUpDataTest, ZerosOfEveryType) {
  auto fp16 = Sample(DataType::kFp16, {2, 3}, WarmUpSample::Data::kZeros);
  ASSERT_TRUE(ReadWarmUpData("", fp16).ok());
  EXPECT_THAT(BytesOf(fp16), SizeIs(12));
  auto texts = Sample(DataType::kBytes, {2}, WarmUpSample::Data::kZeros);
  ASSERT_TRUE(ReadWarmUpData("", texts).ok());
  EXPECT_THAT(BytesOf(texts), SizeIs(2 * kBytesLengthSize));
  EXPECT_THAT(BytesOf(texts), Each(std::byte{0}));
}

TEST(WarmUpDataTest, RandomFloatsAreSmallAndNotAllAlike) {
  auto samples = Sample(DataType::kFp32, {100}, WarmUpSample::Data::kRandom);
  ASSERT_TRUE(ReadWarmUpData("", samples).ok());
  ASSERT_THAT(BytesOf(samples), SizeIs(400));
  float values[100];
  std::memcpy(values, BytesOf(samples).data(), sizeof(values));
  EXPECT_THAT(values,
              Each(testing::AllOf(testing::Ge(-1.0f), testing::Lt(1.0f))));
  EXPECT_NE(values[0], values[1]);
}

TEST(WarmUpDataTest, FileHoldsOneRow) {
  const TempFolder folder;
  folder.Write("x.bin", std::string("\1\0\0\0\2\0\0\0", 8));
  auto samples = Sample(DataType::kInt32, {2}, WarmUpSample::Data::kFile);
  ASSERT_TRUE(ReadWarmUpData(folder.path(""), samples).ok());
  EXPECT_EQ(BytesOf(samples)[4], std::byte{2});

  samples = Sample(DataType::kInt32, {3}, WarmUpSample::Data::kFile);
  EXPECT_THAT(std::string(ReadWarmUpData(folder.path(""), samples).message()),
              HasSubstr("expected one row, INT32 [3], of 12 bytes, got 8 "
                        "bytes"));
}

TEST(WarmUpDataTest, FileOfTextsHoldsEachBehindItsLength) {
  const TempFolder folder;
  folder.Write("x.bin", std::string("\2\0\0\0hi\0\0\0\0", 10));
  auto samples = Sample(DataType::kBytes, {2}, WarmUpSample::Data::kFile);
  EXPECT_TRUE(ReadWarmUpData(folder.path(""), samples).ok());
  samples = Sample(DataType::kBytes, {1}, WarmUpSample::Data::kFile);
  EXPECT_THAT(std::string(ReadWarmUpData(folder.path(""), samples).message()),
              HasSubstr("each element behind its length, got 10 bytes"));
}

TEST(WarmUpDataTest, FileThatIsMissing) {
  const TempFolder folder;
  auto samples = Sample(DataType::kInt32, {2}, WarmUpSample::Data::kFile);
  const absl::Status status = ReadWarmUpData(folder.path("no"), samples);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("input_data_file: "));
}

}  // namespace
}  // namespace ferry
