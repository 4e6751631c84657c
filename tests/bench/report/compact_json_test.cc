// Tests that arrays of numbers go on one line, and all else stays as it was.
#include "bench/report/compact_json.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

TEST(CompactNumbersTest, ArraysOfNumbersGoOnOneLine) {
  EXPECT_EQ(CompactNumbers("{\n \"a\": [\n  1,\n  -2.5e-7\n ]\n}"),
            "{\n \"a\": [1, -2.5e-7]\n}");
  EXPECT_EQ(CompactNumbers("[\n [\n  1,\n  2\n ],\n [\n  3\n ]\n]\n"),
            "[[1, 2], [3]]\n");
  EXPECT_EQ(CompactNumbers("[]"), "[]");
}

TEST(CompactNumbersTest, AllElseIsAsItWas) {
  for (const char* text :
       {"[\n \"1\"\n]", "[\n null,\n 1\n]", "\"[\n 1,\n 2]\"", "\"a\\\"[ 1 ]\"",
        "{\n \"a\": {}\n}", "[\n {\n }\n]"}) {
    EXPECT_EQ(CompactNumbers(text), text);
  }
}

}  // namespace
}  // namespace ferry::bench
