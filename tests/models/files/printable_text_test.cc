// Tests what counts as UTF-8, and what is shown of other bytes.
#include "models/files/printable_text.h"

#include "gtest/gtest.h"

namespace ferry {
namespace {

TEST(PrintableTextTest, Utf8IsWhatTheStandardSays) {
  for (const char* good : {"", "a\n", "\u00e9", "\u20ac", "\U0001F600"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad :
       {"\xe9", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xe2\x82", "\xff"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(PrintableTextTest, OtherBytesStandAsHexadecimals) {
  EXPECT_EQ(PrintableText("caf\xe9 \u20ac", 100), "caf\\xe9 \u20ac");
  EXPECT_EQ(PrintableText("a\nb\t\x7f", 100), "a\\x0ab\\x09\\x7f");
  EXPECT_EQ(PrintableText("a\nb\t", 100, "\n"), "a\nb\\x09");
  EXPECT_EQ(PrintableText(std::string("\0", 1), 100), "\\x00");
}

TEST(PrintableTextTest, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(PrintableText("abcd", 4), "abcd");
  EXPECT_EQ(PrintableText("abcde", 4), "abcd...");
  EXPECT_EQ(PrintableText("ab\u20ac", 4), "ab...");
  EXPECT_EQ(PrintableText("ab\xff", 4), "ab...");
}

}  // namespace
}  // namespace ferry
