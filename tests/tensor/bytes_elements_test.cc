// Tests that elements behind their lengths are written, read and skipped.
#include "tensor/bytes_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ferry {
namespace {

using ::testing::ElementsAre;

std::string Elements(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    std::string element(kBytesLengthSize + text.size(), '?');
    auto* const to = reinterpret_cast<std::byte*>(element.data());
    EXPECT_EQ(WriteBytesElement(text, to), to + element.size());
    bytes += element;
  }
  return bytes;
}

ferry::ByteSegment SegmentOf(const std::string& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

TEST(BytesElements, LengthIsFourLittleEndianBytes) {
  const std::string bytes = Elements({std::string(0x0102, 'x')});
  EXPECT_EQ(bytes.substr(0, 5), std::string("\x02\x01\0\0x", 5));
  const ferry::ByteSegment segment = SegmentOf(bytes);
  SegmentReader reader({&segment, 1});
  uint32_t length = 0;
  ASSERT_TRUE(ReadBytesLength(reader, length));
  EXPECT_EQ(length, 0x0102u);
  EXPECT_EQ(reader.left(), 0x0102u);
}

TEST(BytesElements, LengthIsReadWhereverItIsCut) {
  const std::string bytes = Elements({"ab", "", "c"});
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const ferry::ByteSegment whole = SegmentOf(bytes);
    const ferry::ByteSegment segments[] = {
        {whole.data, cut}, {whole.data + cut, whole.size - cut}};
    SegmentReader reader(segments);
    EXPECT_TRUE(SkipBytesElements(reader, 3)) << cut;
    EXPECT_TRUE(reader.at_end()) << cut;
  }
}

TEST(BytesElements, WhatIsTruncatedIsNotSkipped) {
  const std::string bytes = Elements({"ab", "c"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const ferry::ByteSegment segment = {SegmentOf(bytes).data, size};
    SegmentReader reader({&segment, 1});
    EXPECT_FALSE(SkipBytesElements(reader, 2)) << size;
  }
}

TEST(BytesElements, RowsBeginWhereTheirElementsDo) {
  std::string bytes = Elements({"a", "bb", "", "c"});
  OutputTensor output;
  output.data = reinterpret_cast<std::byte*>(bytes.data());
  output.row_dims = {2};
  IndexBytesRows(2, bytes.size(), output);
  EXPECT_THAT(output.row_starts, ElementsAre(0, 11, 20));
  const ferry::ByteSegment last = output.Rows(1, 1);
  EXPECT_EQ(last.data, output.data + 11);
  EXPECT_EQ(last.size, 9u);
  EXPECT_EQ(output.Rows(0, 2).size, bytes.size());
  EXPECT_EQ(output.Rows(2, 0).size, 0u);
}

TEST(BytesElementsDeathTest, RowsThatAreNotAllThereAreABug) {
  std::string bytes = Elements({"a"});
  OutputTensor output;
  output.data = reinterpret_cast<std::byte*>(bytes.data());
  output.row_dims = {1};
  EXPECT_DEATH(IndexBytesRows(2, bytes.size(), output), "elements of a row");
  output.row_dims = {};
  EXPECT_DEATH(IndexBytesRows(0, bytes.size(), output), "beyond the rows");
}

}  // namespace
}  // namespace ferry
