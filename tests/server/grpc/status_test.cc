// Tests failures as clients see them.
#include "server/grpc/status.h"

#include <gtest/gtest.h>

#include <string>

namespace ferry {
namespace {

TEST(StatusTest, EveryCodeKeepsItsNameAndText) {
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status status =
        ToGrpcStatus(absl::Status(static_cast<absl::StatusCode>(code), "why"),
                     StatusCodes::kFerry);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), "why");
  }
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus(), StatusCodes::kFerry).ok());
  EXPECT_TRUE(ToGrpcStatus(Outcome()).ok());
}

TEST(StatusTest, OutcomeBecomesTheSameStatus) {
  const grpc::Status status =
      ToGrpcStatus(Outcome{absl::StatusCode::kDeadlineExceeded, "late"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "late");
}

TEST(StatusTest, FailureSaysWhereTheLogSaysWhy) {
  const grpc::Status status = ToGrpcStatus(
      Outcome{absl::StatusCode::kInternal, "the model failed", 0xbeef});
  EXPECT_EQ(status.error_message(),
            "the model failed; the server's log says why at reason=0000beef");
}

TEST(StatusTest, ControlCharactersOfNamesAreEscapedButForLineEnds) {
  const grpc::Status status = ToGrpcStatus(absl::InvalidArgumentError(
      "input 'a\x1b[2J\u009b\u2028\u202e\r': expected\nlines"));
  EXPECT_EQ(status.error_message(),
            "input 'a\\x1b[2J\\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae\\x0d': "
            "expected\nlines");
}

TEST(StatusTest, TritonCodesChangeOnlyTheFullQueue) {
  EXPECT_EQ(
      ToGrpcStatus(absl::ResourceExhaustedError("full"), StatusCodes::kTriton)
          .error_code(),
      grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(
      ToGrpcStatus(absl::InternalError("x"), StatusCodes::kTriton).error_code(),
      grpc::StatusCode::INTERNAL);
}

TEST(StatusTest, WhatIsUnavailableHasATimeToTryAgain) {
  EXPECT_GT(RetryPushbackMs(ToGrpcStatus(absl::UnavailableError("drains"))), 0);
  EXPECT_EQ(RetryPushbackMs(ToGrpcStatus(absl::InternalError("x"))),
            std::nullopt);
  EXPECT_EQ(RetryPushbackMs(grpc::Status::OK), std::nullopt);
}

TEST(StatusTest, LongTextsAreCutAsTheyStandOnTheWire) {
  const auto told = [](const std::string& text) {
    return ToGrpcStatus(absl::InternalError(text)).error_message();
  };
  EXPECT_EQ(told(std::string(4096, 'x')), std::string(4096, 'x'));
  EXPECT_EQ(told(std::string(4097, 'x')), std::string(4096, 'x') + "...");
  // Each byte of these is three: 9 bytes a character, never half of one.
  std::string signs = "ab";
  for (int i = 0; i < 1000; ++i) {
    signs += "\u20ac";
  }
  EXPECT_EQ(told(signs), signs.substr(0, 2 + 454 * 3) + "...");
}

TEST(StatusTest, IdStandsBeforeTheText) {
  const grpc::Status status(grpc::StatusCode::INTERNAL, "why");
  EXPECT_EQ(WithRequestId(status, "7").error_message(), "[request id: 7] why");
  EXPECT_EQ(WithRequestId(status, "").error_message(),
            "[request id: <id_unknown>] why");
  EXPECT_LT(
      WithRequestId(status, std::string(1 << 20, 'i')).error_message().size(),
      200u);
  EXPECT_TRUE(WithRequestId(grpc::Status::OK, "7").ok());
}

}  // namespace
}  // namespace ferry
