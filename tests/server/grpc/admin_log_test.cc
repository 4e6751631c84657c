// Tests that the log is told of each admin call, but not of a flood of them.
#include "server/grpc/admin_log.h"

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

class AdminLogTest : public testing::Test {
 protected:
  std::string Tell(const std::string& client = "ops") {
    log_.Tell("/ferry.v1.Admin/Drain", client, "ipv4:10.0.0.1:4000");
    return logged_.Take();
  }

  FakeClock clock_;
  LoggedText logged_;
  AdminLog log_{clock_};
};

TEST_F(AdminLogTest, ACallHasItsClientAndPeer) {
  EXPECT_THAT(Tell(), HasSubstr("admin call /ferry.v1.Admin/Drain client='ops' "
                                "peer=ipv4:10.0.0.1:4000"));
  EXPECT_THAT(Tell(""), HasSubstr("client='' peer="));
  EXPECT_THAT(Tell("a\x1b[2J"), HasSubstr("client='a\\x1b[2J'"));
}

TEST_F(AdminLogTest, AFloodIsToldInPart) {
  for (int i = 0; i < AdminLog::kMostPerSecond; ++i) {
    EXPECT_THAT(Tell(), Not(IsEmpty())) << i;
  }
  EXPECT_THAT(Tell(), AllOf(HasSubstr("leaves out the admin calls"),
                            Not(HasSubstr("client="))));
  EXPECT_THAT(Tell(), IsEmpty());
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Tell(), HasSubstr("client='ops'"));
}

}  // namespace
}  // namespace ferry
