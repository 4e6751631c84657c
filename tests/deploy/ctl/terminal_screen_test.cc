// Tests how a page is cut to the terminal; deploy_ctl_server has the terminal.
#include "deploy/ctl/terminal_screen.h"

#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

TEST(ScreenTextTest, LinesAreCutAndNotWrapped) {
  EXPECT_EQ(ScreenText("abcdef\n\nabc\n", 4, 9), "abcd\n\nabc");
  EXPECT_EQ(ScreenText("abcd", 4, 9), "abcd");
  EXPECT_EQ(ScreenText("", 4, 9), "");
}

TEST(ScreenTextTest, CharactersOfSeveralBytesAreNotCutInTwo) {
  EXPECT_EQ(ScreenText("\xc3\xa4\xe2\x82\xac\xc3\xa4", 2, 1),
            "\xc3\xa4\xe2\x82\xac");
  EXPECT_EQ(ScreenText("\xc3\xa4", 0, 1), "");
}

TEST(ScreenTextTest, LinesPastTheLastRowAreLeftOut) {
  EXPECT_EQ(ScreenText("a\nb\nc\n", 9, 2), "a\nb");
  EXPECT_EQ(ScreenText("a\nb\n", 9, 2), "a\nb");
}

}  // namespace
}  // namespace ferry::ctl
