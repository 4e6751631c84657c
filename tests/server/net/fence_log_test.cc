// Tests when the log is told of floods, and of how many connections.
#include "server/net/fence_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/logged_text.h"
#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FenceLogTest : public testing::Test {
 protected:
  std::string LookAfter(Duration time) {
    clock_.Advance(time);
    log_.Look(ended_, refused_, clock_.Now());
    return logged_.Take();
  }

  static constexpr Duration kLook = std::chrono::milliseconds(500);

  FakeClock clock_;
  LoggedText logged_;
  FenceCounts ended_{};
  uint64_t refused_ = 0;
  FenceLog log_;
};

TEST_F(FenceLogTest, SaysNothingOfNothing) {
  EXPECT_THAT(LookAfter(kLook), IsEmpty());
  EXPECT_THAT(LookAfter(FenceLog::kToldAgain), IsEmpty());
}

TEST_F(FenceLogTest, TellsOfTheFirstFloodAtOnceAndOfMoreOnceAMinute) {
  ended_[0] = 2;
  ended_[1] = 1;
  EXPECT_THAT(LookAfter(kLook), AllOf(HasSubstr("ended 3 connections"),
                                      Not(HasSubstr("refused"))));
  ended_[1] = 8;
  EXPECT_THAT(LookAfter(FenceLog::kToldAgain - Duration(1)), IsEmpty());
  EXPECT_THAT(LookAfter(Duration(1)), HasSubstr("ended 7 connections"));
  EXPECT_THAT(LookAfter(FenceLog::kToldAgain), IsEmpty());
}

TEST_F(FenceLogTest, TellsOfRefusedOnesByTheirFlags) {
  refused_ = 5;
  EXPECT_THAT(LookAfter(kLook), AllOf(HasSubstr("refused 5 connections past "
                                                "--grpc-max-connections"),
                                      Not(HasSubstr("ended"))));
}

}  // namespace
}  // namespace ferry
