// Tests what is made of Prometheus' answers, and of those that are none.
#include "deploy/ctl/prometheus_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr TimeRange kRange = {.begin_s = 1000, .step_s = 60, .steps = 4};

HttpReply Matrix(const std::string& result) {
  return {.code = 200,
          .body = R"({"status": "success", "data": {"resultType": "matrix",
                      "result": )" +
                  result + "}}"};
}

HttpReply Series(const std::string& values) {
  return Matrix(R"([{"metric": {}, "values": )" + values + "}]");
}

std::string Refusal(const HttpReply& reply) {
  return std::string(ParseRange(reply, kRange, "http://p").status().message());
}

TEST(PrometheusClientTest, StepsWithoutASampleAreGaps) {
  const auto samples =
      ParseRange(Series(R"([[1000, "0.25"], [1120, "0"], [1180, "1e-3"]])"),
                 kRange, "http://p");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(*samples, ElementsAre(0.25, std::nullopt, 0, 0.001));
}

TEST(PrometheusClientTest, WhatIsNoShareOrRateIsAGap) {
  const auto samples = ParseRange(
      Series(R"([[1000, "NaN"], [1060, "+Inf"], [1120, "-1"], [1180, "2"]])"),
      kRange, "http://p");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(*samples,
              ElementsAre(std::nullopt, std::nullopt, std::nullopt, 2));
}

TEST(PrometheusClientTest, NoSeriesIsAllGaps) {
  const auto samples = ParseRange(Matrix("[]"), kRange, "http://p");
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(*samples, ElementsAre(std::nullopt, std::nullopt, std::nullopt,
                                    std::nullopt));
}

TEST(PrometheusClientTest, SeveralSeriesAreRefused) {
  EXPECT_THAT(Refusal(Matrix(R"([{"metric": {}, "values": []},
                                 {"metric": {}, "values": []}])")),
              HasSubstr("http://p: expected one series, got 2"));
}

TEST(PrometheusClientTest, ErrorsAreToldInItsWordsEscapedAndCut) {
  const std::string refusal =
      Refusal({.code = 422,
               .body = R"({"status": "error", "errorType": "execution",
                   "error": "too \u001b[31mmany )" +
                       std::string(1000, 'x') + R"("})"});
  EXPECT_THAT(refusal, AllOf(HasSubstr("Prometheus answers an error, "
                                       "execution: too \\x1b[31mmany xxx"),
                             HasSubstr("..."), Not(HasSubstr("\x1b"))));
  EXPECT_LT(refusal.size(), 400U);
}

TEST(PrometheusClientTest, WhatIsNoAnswerOfPrometheusIsTold) {
  const HttpReply wrong[] = {
      {.code = 502, .body = "<html>\x1b</html>"},
      {.code = 200, .body = "[]"},
      {.code = 200, .body = "{}"},
      {.code = 200, .body = R"({"status": "success", "data": []})"},
      {.code = 200, .body = R"({"status": "success", "data": {
           "resultType": "vector", "result": []}})"},
      Matrix("{}"),
      Matrix("[1]"),
      Series("1"),
      Series(R"([[1000]])"),
      Series(R"([[1000, 0.5]])"),
      Series(R"([["1000", "0.5"]])"),
      Series(R"([[1240, "0.5"]])"),
      Series(R"([[900, "0.5"]])")};
  for (const HttpReply& reply : wrong) {
    EXPECT_THAT(Refusal(reply),
                AllOf(HasSubstr("http://p: expected an answer of Prometheus"),
                      Not(HasSubstr("\x1b"))))
        << reply.body;
  }
}

TEST(PrometheusClientTest, SamplesOfNowHaveTheirLabels) {
  const auto samples = ParseNow(
      {.code = 200,
       .body = R"({"status": "success", "data": {"resultType": "vector",
                   "result": [{"metric": {"job": "ferry"},
                               "value": [1.5, "3"]}]}})"},
      "http://p");
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 1U);
  EXPECT_EQ(samples->front().value, 3);
  EXPECT_EQ(samples->front().Label("job"), "ferry");
  EXPECT_THAT(samples->front().Label("instance"), IsEmpty());
}

TEST(PrometheusClientTest, ARangeEndsWithItsLastStep) {
  EXPECT_EQ(kRange.end_s(), 1180);
}

}  // namespace
}  // namespace ferry::ctl
