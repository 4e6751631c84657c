// Tests how failures are told on a terminal.
#include "bench/commands/command_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

TEST(CommandReportTest, FailureOfSeveralLinesKeepsThemAndForgesNone) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Fail(absl::InvalidArgumentError("cannot load 2 models:\n"
                                            "a: no file\nb: \x1b[2J")),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::EndsWith(": cannot load 2 models:\n  a: no file\n"
                                "  b: \\x1b[2J\n"));
}

}  // namespace
}  // namespace ferry::bench
