// Tests that SegmentReader reads pieces as one, and nothing past their end.
#include "tensor/segment_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

ferry::ByteSegment Piece(const char* text) {
  return {reinterpret_cast<const std::byte*>(text), std::string(text).size()};
}

std::string TextOf(const std::vector<ferry::ByteSegment>& pieces) {
  std::string text;
  for (const ferry::ByteSegment& piece : pieces) {
    text.append(reinterpret_cast<const char*>(piece.data), piece.size);
  }
  return text;
}

class RunReaderTest : public ::testing::Test {
 protected:
  // "abcdefg", with empty pieces at the ends and within.
  const std::vector<ferry::ByteSegment> segments_ = {
      Piece(""), Piece("ab"), Piece(""), Piece("cd"), Piece("efg"), Piece("")};
  SegmentReader reader_{segments_};
};

TEST_F(RunReaderTest, ReadsAcrossPieces) {
  EXPECT_EQ(reader_.left(), 7u);
  EXPECT_EQ(reader_.front(), 'a');
  reader_.Advance();
  std::vector<ferry::ByteSegment> pieces;
  ASSERT_TRUE(reader_.Take(3, pieces));
  EXPECT_EQ(TextOf(pieces), "bcd");
  EXPECT_EQ(pieces.size(), 2u) << "no piece is empty";
  std::string text(2, '?');
  ASSERT_TRUE(reader_.Copy(2, reinterpret_cast<std::byte*>(text.data())));
  EXPECT_EQ(text, "ef");
  ASSERT_TRUE(reader_.Skip(1));
  EXPECT_TRUE(reader_.at_end());
  EXPECT_TRUE(reader_.Skip(0));
}

TEST_F(RunReaderTest, WhatWouldPassTheEndFailsAndMovesNothing) {
  ASSERT_TRUE(reader_.Skip(3));
  std::vector<ferry::ByteSegment> pieces;
  std::string text(5, '?');
  EXPECT_FALSE(reader_.Skip(5));
  EXPECT_FALSE(reader_.Take(5, pieces));
  EXPECT_FALSE(reader_.Copy(5, reinterpret_cast<std::byte*>(text.data())));
  EXPECT_EQ(text, "?????");
  EXPECT_EQ(reader_.left(), 4u);
  EXPECT_EQ(reader_.front(), 'd');
}

}  // namespace
}  // namespace ferry
