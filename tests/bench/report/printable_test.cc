// Tests what is escaped, and that all else stays as it was.
#include "bench/report/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry::bench {
namespace {

TEST(PrintableTest, WhatControlsATerminalIsEscaped) {
  EXPECT_EQ(Printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(Printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(Printable(std::string("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(Printable("\u009b2J\u0085"), "\\u009b2J\\u0085");
}

TEST(PrintableTest, SeparatorsAndDirectionsAreEscaped) {
  EXPECT_EQ(Printable("a\u2028b\u2029c"), "a\\u2028b\\u2029c");
  EXPECT_EQ(Printable("\u202exe.\u2066\u2069\u200f\u061c"),
            "\\u202exe.\\u2066\\u2069\\u200f\\u061c");
}

TEST(PrintableTest, BytesThatAreNoUtf8AreEscapedOneByOne) {
  EXPECT_EQ(Printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(Printable("\xc0\x9b"), "\\xc0\\x9b") << "an overlong form";
  EXPECT_EQ(Printable("\xe2\x80"), "\\xe2\\x80") << "cut short";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(Printable("\x9b"), "\\x9b");
}

TEST(PrintableTest, AllElseStays) {
  for (const char* text :
       {"", "mlp", "C:\\models", "na\u00efve \u6587 \U0001f600", "\u00a0",
        "\u2010"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

}  // namespace
}  // namespace ferry::bench
