// Tests that NumberFrom() takes numbers in the range and refuses others.
#include "flags/number_from.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

// What the check says of that text; empty where it is fine.
std::string Said(const std::string& text) {
  std::string checked = text;
  return NumberFrom(0.5, 30)(checked);
}

TEST(NumberFromTest, BothEndsAreInTheRange) {
  for (const char* text : {"0.5", "1", "2.5e1", "30"}) {
    EXPECT_EQ(Said(text), "") << text;
  }
}

TEST(NumberFromTest, WhatIsNoNumberOfTheRangeIsRefusedWithBoth) {
  for (const std::string text :
       {"0.4999", "30.01", "-1", "inf", "nan", "", "ten", "3s", "1,5"}) {
    EXPECT_EQ(Said(text), "expected 0.5 to 30, got '" + text + "'");
  }
}

}  // namespace
}  // namespace ferry
