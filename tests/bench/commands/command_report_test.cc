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

std::string Ceiling(const RunResult& run) {
  testing::internal::CaptureStdout();
  PrintCeiling(run);
  return testing::internal::GetCapturedStdout();
}

TEST(CommandReportTest, RateThatTheClientCannotSendIsToldWithWhatToDo) {
  RunResult run;
  run.label = "eager, 64 rows";
  EXPECT_EQ(Ceiling(run), "") << "no search";
  run.search = SearchSummary();
  EXPECT_EQ(Ceiling(run), "") << "it could send all";
  run.search->client_ceiling = 500;
  EXPECT_EQ(Ceiling(run),
            "this client could not send 500/s on time: more may be possible; "
            "what to do is told above\n");
  run.runtime_options = RuntimeSetting{"eager", 64, 0};
  EXPECT_THAT(Ceiling(run),
              testing::HasSubstr("on time with eager, 64 rows: "));
}

}  // namespace
}  // namespace ferry::bench
