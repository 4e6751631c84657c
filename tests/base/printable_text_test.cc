// Tests what counts as UTF-8, and what is shown of other bytes.
#include "base/printable_text.h"

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

TEST(PrintableTextTest, WhatActsOnATerminalOrOnOtherTextStandsSo) {
  for (const char* hidden :
       {"\n",     "\r",     "\x1b",      "\b",     "\u0085", "\u009b",
        "\u009f", "\u00ad", "\u061c",    "\u200b", "\u200d", "\u200f",
        "\u2028", "\u2029", "\u202a",    "\u202e", "\u2060", "\u2066",
        "\u2069", "\ufeff", "\U000e0041"}) {
    const std::string text = PrintableText(hidden, 100);
    EXPECT_EQ(text.find(hidden), std::string::npos) << text;
    EXPECT_EQ(text.size(), 4 * std::string(hidden).size()) << text;
  }
  EXPECT_EQ(PrintableText("a\u202eb", 100), "a\\xe2\\x80\\xaeb");
}

TEST(PrintableTextTest, NeighborsOfWhatIsHiddenAreShown) {
  for (const char* shown :
       {" ", "~", "\u00a0", "\u00ae", "\u200a", "\u2010", "\u2027", "\u202f",
        "\u205f", "\u2070", "\u4f60", "\U0001F600"}) {
    EXPECT_EQ(PrintableText(shown, 100), shown);
  }
}

TEST(PrintableTextTest, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(PrintableText("abcd", 4), "abcd");
  EXPECT_EQ(PrintableText("abcde", 4), "abcd...");
  EXPECT_EQ(PrintableText("ab\u20ac", 4), "ab...");
  EXPECT_EQ(PrintableText("ab\xff", 4), "ab...");
}

}  // namespace
}  // namespace ferry
