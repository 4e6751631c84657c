// Tests how lines are broken, and which width COLUMNS gives.
#include "flags/terminal.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace ferry {
namespace {

TEST(WrappedTest, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(Wrapped("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(Wrapped("one two three", 9, 0, 6), "one\ntwo three");
}

TEST(WrappedTest, LongWordKeepsItsLine) {
  EXPECT_EQ(Wrapped("a abcdefghijkl b", 6, 1), "a\n abcdefghijkl\n b");
}

TEST(WrappedTest, WithoutATerminalNothingIsWrapped) {
  EXPECT_EQ(Wrapped("one two three four", 0, 2), "one two three four");
}

TEST(TerminalColumnsTest, AreThoseOfTheEnvironment) {
  ASSERT_EQ(setenv("COLUMNS", "80", /*overwrite=*/1), 0);
  EXPECT_EQ(TerminalColumns(), 80U);
  ASSERT_EQ(unsetenv("COLUMNS"), 0);
}

}  // namespace
}  // namespace ferry
