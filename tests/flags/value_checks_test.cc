// Tests that each check takes what it describes and words what it refuses.
#include "flags/value_checks.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

// What the check says of that text; empty where it is fine.
std::string Said(const CLI::Validator& check, std::string text) {
  return check(text);
}

TEST(NumberFromTest, BothEndsAreInTheRange) {
  for (const char* text : {"0.5", "1", "2.5e1", "30"}) {
    EXPECT_EQ(Said(NumberFrom(0.5, 30), text), "") << text;
  }
}

TEST(NumberFromTest, WhatIsNoNumberOfTheRangeIsRefusedWithBoth) {
  for (const std::string text :
       {"0.4999", "30.01", "-1", "inf", "nan", "", "ten", "3s", "1,5"}) {
    EXPECT_EQ(Said(NumberFrom(0.5, 30), text),
              "expected 0.5 to 30, got '" + text + "'");
  }
}

TEST(IntegerFromTest, BothEndsAreInTheRange) {
  for (const char* text : {"0", "8", "17592186044416"}) {
    EXPECT_EQ(Said(IntegerFrom(0, int64_t{1} << 44), text), "") << text;
  }
}

TEST(IntegerFromTest, WhatIsNoWholeNumberOfTheRangeIsRefused) {
  for (const std::string text :
       {"0", "65", "-1", "1.5", "1e1", "0x10", "010", "+8", " 8", "", "eight",
        "99999999999999999999"}) {
    EXPECT_EQ(Said(IntegerFrom(1, 64), text),
              "expected a whole number, 1 to 64, got '" + text + "'");
  }
}

TEST(OneOfTest, TakesEachAndRefusesOthersByAll) {
  const CLI::Validator check = OneOf({"eager", "window", "adaptive"});
  EXPECT_EQ(Said(check, "window"), "");
  EXPECT_EQ(check.get_description(), "eager|window|adaptive");
  for (const std::string text : {"Window", "fast", "", "eager "}) {
    EXPECT_EQ(Said(check, text),
              "expected eager, window or adaptive, got '" + text + "'");
  }
}

TEST(IsBoolTest, TakesTritonsWords) {
  for (const char* text : {"true", "False", "TRUE", "on", "Off", "1", "0"}) {
    EXPECT_EQ(Said(IsBool(), text), "") << text;
  }
  for (const std::string text : {"maybe", "", "2", "yes "}) {
    EXPECT_EQ(Said(IsBool(), text),
              "expected true or false, got '" + text + "'");
  }
}

TEST(OneOfTest, OfOneNoOtherIsNamed) {
  EXPECT_EQ(Said(OneOf({"null"}), "x"), "expected null, got 'x'");
}

}  // namespace
}  // namespace ferry
