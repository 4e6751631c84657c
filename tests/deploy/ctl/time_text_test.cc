// Tests how moments are written.
#include "deploy/ctl/time_text.h"

#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

TEST(TimeTextTest, TimesAreWrittenInUtc) {
  EXPECT_EQ(TimeText(1'700'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(TimeText(absl::UnixEpoch() + absl::Hours(12)),
            "1970-01-01T12:00:00Z");
  EXPECT_EQ(kDayS, 86'400);
}

}  // namespace
}  // namespace ferry::ctl
