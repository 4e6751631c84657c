// Tests which signals are one wish to stop, and which are two.
#include "base/stop_wish.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using Kind = StopWish::Kind;

constexpr Duration kTick = std::chrono::nanoseconds(1);

class StopWishTest : public testing::Test {
 protected:
  Kind Take(int number) { return wish_.Take(number, clock_.Now()); }

  FakeClock clock_;
  StopWish wish_;
};

TEST_F(StopWishTest, FirstIsKept) {
  EXPECT_EQ(wish_.first(), std::nullopt);
  EXPECT_EQ(Take(SIGINT), Kind::kFirst);
  EXPECT_EQ(wish_.first(), SIGINT);
  EXPECT_EQ(Take(SIGTERM), Kind::kSecond);
  EXPECT_EQ(wish_.first(), SIGINT);
}

TEST_F(StopWishTest, SameSignalWithinTheEchoTimeIsTheSameWish) {
  Take(SIGTERM);
  EXPECT_EQ(Take(SIGTERM), Kind::kEcho);
  clock_.Advance(StopWish::kEchoTime - kTick);
  EXPECT_EQ(Take(SIGTERM), Kind::kEcho);
  clock_.Advance(kTick);
  EXPECT_EQ(Take(SIGTERM), Kind::kSecond);
}

TEST_F(StopWishTest, OtherSignalIsASecondWishAtOnce) {
  Take(SIGTERM);
  EXPECT_EQ(Take(SIGINT), Kind::kSecond);
}

TEST_F(StopWishTest, HangUpIsNeverASecondWish) {
  Take(SIGHUP);
  clock_.Advance(StopWish::kEchoTime);
  EXPECT_EQ(Take(SIGHUP), Kind::kEcho);
  EXPECT_EQ(Take(SIGQUIT), Kind::kSecond);
}

TEST_F(StopWishTest, HangUpAfterAnotherSignalIsItsEcho) {
  Take(SIGINT);
  clock_.Advance(StopWish::kEchoTime);
  EXPECT_EQ(Take(SIGHUP), Kind::kEcho);
}

}  // namespace
}  // namespace ferry
