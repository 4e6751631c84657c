// Tests that Classify() finds the largest values, with index and label.
#include "server/codec/classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ferry {
namespace {

using ::testing::ElementsAre;

// The texts of a BYTES tensor.
std::vector<std::string> Elements(const std::string& bytes) {
  std::vector<std::string> texts;
  for (size_t at = 0; at < bytes.size();) {
    size_t size = 0;
    for (size_t i = 0; i < 4; ++i) {
      size |= static_cast<size_t>(static_cast<uint8_t>(bytes.at(at + i)))
              << (8 * i);
    }
    texts.push_back(bytes.substr(at + 4, size));
    at += 4 + size;
  }
  return texts;
}

template <typename Value>
std::vector<std::string> Classified(DataType type, std::vector<Value> values,
                                    int64_t rows, int64_t count,
                                    std::vector<std::string> labels = {}) {
  return Elements(
      Classify({.type = type,
                .data = reinterpret_cast<const std::byte*>(values.data()),
                .rows = rows,
                .elements = static_cast<int64_t>(values.size()) / rows},
               count, labels));
}

TEST(Classification, TellsTheLargestOfEachRowFirst) {
  EXPECT_THAT(
      Classified<float>(DataType::kFp32, {0.5F, 2, -1, 0.25F, 0.125F, 7}, 2, 2),
      ElementsAre("2.000000:1", "0.500000:0", "7.000000:2", "0.250000:0"));
}

TEST(Classification, OfEqualValuesTheLowerIndexIsFirst) {
  EXPECT_THAT(Classified<int32_t>(DataType::kInt32, {3, 5, 5, 3}, 1, 4),
              ElementsAre("5:1", "5:2", "3:0", "3:3"));
}

TEST(Classification, AsksForMoreThanThereAre) {
  EXPECT_THAT(Classified<uint8_t>(DataType::kUint8, {1, 255}, 1,
                                  std::numeric_limits<int64_t>::max()),
              ElementsAre("255:1", "1:0"));
  EXPECT_EQ(ToldClasses(5, 2), 2);
  EXPECT_EQ(ToldClasses(2, 5), 2);
}

TEST(Classification, LabelsStandBehindTheIndexWhereThereAre) {
  EXPECT_THAT(Classified<double>(DataType::kFp64, {1, 3, 2, 0}, 1, 4,
                                 {"cat", "dog", ""}),
              ElementsAre("3.000000:1:dog", "2.000000:2", "1.000000:0:cat",
                          "0.000000:3"));
}

TEST(Classification, NaNIsTheLeast) {
  const float nan = std::nanf("");
  const auto texts =
      Classified<float>(DataType::kFp32, {nan, -1, nan, 4}, 1, 4);
  EXPECT_EQ(texts[0], "4.000000:3");
  EXPECT_EQ(texts[1], "-1.000000:1");
}

TEST(Classification, EveryNumberTypeHasClasses) {
  EXPECT_THAT(Classified<int64_t>(DataType::kInt64, {-9, -8}, 1, 1),
              ElementsAre("-8:1"));
  EXPECT_THAT(Classified<uint64_t>(DataType::kUint64, {9, 8}, 1, 1),
              ElementsAre("9:0"));
  EXPECT_THAT(Classified<int8_t>(DataType::kInt8, {-9, -8}, 1, 1),
              ElementsAre("-8:1"));
  EXPECT_THAT(Classified<uint16_t>(DataType::kUint16, {9, 8}, 1, 1),
              ElementsAre("9:0"));
  EXPECT_THAT(Classified<int16_t>(DataType::kInt16, {9, 8}, 1, 1),
              ElementsAre("9:0"));
  EXPECT_THAT(Classified<uint32_t>(DataType::kUint32, {9, 8}, 1, 1),
              ElementsAre("9:0"));
  for (const DataType type :
       {DataType::kBool, DataType::kFp16, DataType::kBf16, DataType::kBytes}) {
    EXPECT_FALSE(HasClasses(type));
  }
}

}  // namespace
}  // namespace ferry
