// Tests that DataType has the protocol's names and sizes.
#include "tensor/data_type.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace ferry {
namespace {

TEST(DataType, NamesAndSizesAreThoseOfTheProtocol) {
  const struct {
    const char* name;
    DataType type;
    size_t bytes;
  } kTable[] = {
      {"BOOL", DataType::kBool, 1},     {"UINT8", DataType::kUint8, 1},
      {"UINT16", DataType::kUint16, 2}, {"UINT32", DataType::kUint32, 4},
      {"UINT64", DataType::kUint64, 8}, {"INT8", DataType::kInt8, 1},
      {"INT16", DataType::kInt16, 2},   {"INT32", DataType::kInt32, 4},
      {"INT64", DataType::kInt64, 8},   {"FP16", DataType::kFp16, 2},
      {"FP32", DataType::kFp32, 4},     {"FP64", DataType::kFp64, 8},
      {"BF16", DataType::kBf16, 2},     {"BYTES", DataType::kBytes, 0},
  };
  for (const auto& row : kTable) {
    EXPECT_STREQ(DataTypeName(row.type), row.name);
    EXPECT_EQ(ElementSize(row.type), row.bytes) << row.name;
    EXPECT_EQ(ParseDataType(row.name), row.type) << row.name;
  }
}

TEST(DataType, UnknownNamesAreNotParsed) {
  for (const char* name : {"", "FP", "fp32", "FP32 ", "TYPE_FP32", "STRING"}) {
    EXPECT_EQ(ParseDataType(name), std::nullopt) << '"' << name << '"';
  }
}

TEST(DataType, NameWithAZeroByteInsideIsNotParsed) {
  EXPECT_EQ(ParseDataType(std::string_view("FP32\0", 5)), std::nullopt);
}

}  // namespace
}  // namespace ferry
