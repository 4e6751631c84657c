// Tests which failures have a line in the log, and what stands in it.
#include "models/failure_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/failure_reason.h"

namespace ferry {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr TimePoint kBegin = TimePoint(std::chrono::hours(1));
constexpr Duration kSecond = std::chrono::seconds(1);

TEST(FailureRateTest, LetsOneThroughASecondOfEachModelAndReason) {
  FailureRate rate;
  EXPECT_EQ(rate.TryTake("m", 1, kBegin), 0);
  EXPECT_EQ(rate.TryTake("m", 1, kBegin), std::nullopt);
  EXPECT_EQ(rate.TryTake("m", 2, kBegin), 1) << "another reason is not hidden";
  EXPECT_EQ(rate.TryTake("n", 1, kBegin), 0) << "nor is another model";
  EXPECT_EQ(rate.TryTake("m", 1, kBegin + kSecond / 2), std::nullopt);
  EXPECT_EQ(rate.TryTake("m", 1, kBegin + kSecond), 1);
}

TEST(FailureRateTest, IsBoundedForAModelOfManyReasons) {
  FailureRate rate;
  size_t lines = 0;
  for (uint32_t reason = 1; reason <= 1000; ++reason) {
    lines += rate.TryTake("m", reason, kBegin).has_value() ? 1 : 0;
  }
  EXPECT_EQ(lines, FailureRate::kMaxReasons);
  EXPECT_EQ(rate.TryTake("n", 1, kBegin), 0);
  EXPECT_EQ(rate.TryTake("m", 1, kBegin + kSecond),
            int64_t{1000 - FailureRate::kMaxReasons});
}

TEST(FailureRateTest, ForgetsWhereThereAreTooManyModels) {
  FailureRate rate;
  for (size_t i = 0; i <= FailureRate::kMaxModels; ++i) {
    EXPECT_EQ(rate.TryTake(absl::StrCat("m", i), 1, kBegin), 0);
  }
  EXPECT_EQ(rate.TryTake("m0", 1, kBegin), 0);
}

// What is logged while it lives.
class LoggedText {
 public:
  LoggedText() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
  }
  ~LoggedText() { spdlog::set_default_logger(before_); }

  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;
};

TEST(FailureLogTest, ReasonStandsBeforeATraceHoweverLong) {
  std::string what =
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n";
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&what, "  File \"code/__torch__.py\", line 1, in forward\n",
                    "    return (m).forward(x, )\n",
                    "            ~~~~~~~~~~ <--- HERE\n");
  }
  absl::StrAppend(&what, "RuntimeError: index out of range in self\n");
  const LoggedText logged;
  const uint32_t code = LogModelFailure("deep", "forward", AsFailure(what));
  EXPECT_THAT(logged.text(),
              HasSubstr(absl::StrCat(
                  "model failed model=deep step=forward reason=",
                  absl::Hex(code, absl::kZeroPad8),
                  " left_out=0 why=\"index out of range in self\" trace=\"The "
                  "following operation failed")));
}

TEST(FailureLogTest, EachReasonOfEachModelHasItsLine) {
  const LoggedText logged;
  for (int i = 0; i < 3; ++i) {
    LogModelFailure("one", "forward", absl::InternalError("why a"));
    LogModelFailure("one", "forward", absl::InternalError("why b"));
    LogModelFailure("two", "forward", absl::InternalError("why a"));
  }
  for (const char* line : {"model=one step=forward reason=", "why=\"why b\"",
                           "model=two step=forward"}) {
    EXPECT_THAT(logged.text(), HasSubstr(line));
  }
  const std::string text = logged.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
}

TEST(FailureLogTest, TraceOfALoadIsLoggedWhereThereIsOne) {
  const LoggedText logged;
  LogLoadTrace("m", absl::InternalError("no trace"));
  EXPECT_EQ(logged.text(), "");
  LogLoadTrace("m", AsFailure("no\n:\n  File \"a\", line 2\n  ~ <--- HERE\n"));
  EXPECT_THAT(logged.text(), HasSubstr("why=\"no\" trace=\"no|:|  File"));
  EXPECT_THAT(logged.text(), Not(HasSubstr("\n  File")));
}

}  // namespace
}  // namespace ferry
