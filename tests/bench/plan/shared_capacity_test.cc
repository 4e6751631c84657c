// Tests how many devices models take that share them, and which files of models
// are refused.
#include "bench/plan/shared_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

// A model of `rate` requests/s from one hour to before another.
ModelDay Between(const std::string& name, size_t from, size_t to, double rate) {
  ModelDay day = {.name = name, .lambda_max = 100, .peak_rates = {}};
  for (size_t hour = from; hour < to; ++hour) {
    day.peak_rates[hour] = rate;
  }
  return day;
}

TEST(SharedCapacityTest, PeaksOfOtherHoursTakeTurns) {
  const auto shared =
      PlanShared({Between("day", 8, 18, 90), Between("night", 20, 24, 95)}, 1);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->devices, 1);
  EXPECT_EQ(shared->devices_apart, 2);
  EXPECT_EQ(shared->busiest_hour, 20U);
  EXPECT_DOUBLE_EQ(shared->devices_used[8], 0.9);
  EXPECT_DOUBLE_EQ(shared->devices_used[19], 0);
}

TEST(SharedCapacityTest, PeaksOfOneHourAddUp) {
  const auto shared =
      PlanShared({Between("a", 8, 12, 60), Between("b", 11, 14, 60)}, 1);
  EXPECT_EQ(shared->devices, 2) << "1.2 at 11 o'clock";
  EXPECT_EQ(shared->busiest_hour, 11U);
}

TEST(SharedCapacityTest, SmallModelsFillADevice) {
  const auto shared =
      PlanShared({Between("a", 0, 24, 10), Between("b", 0, 24, 10),
                  Between("c", 0, 24, 10)},
                 0.3);
  EXPECT_EQ(shared->devices, 1) << "a whole quotient is not rounded up";
  EXPECT_EQ(shared->devices_apart, 3);
}

TEST(SharedCapacityTest, HeadroomIsAShare) {
  for (const double wrong : {0.0, -1.0, 1.1}) {
    EXPECT_THAT(
        std::string(
            PlanShared({Between("a", 0, 1, 1)}, wrong).status().message()),
        HasSubstr("headroom: expected"));
  }
}

std::string Hours(int count, const std::string& of_each = "5") {
  std::string text;
  for (int hour = 0; hour < count; ++hour) {
    absl::StrAppend(&text, hour == 0 ? "" : ", ", of_each);
  }
  return text;
}

std::string Model(const std::string& rates, const std::string& more = "") {
  return absl::StrCat(R"({"name": "a", "lambda_max": 100, "peak_rates": [)",
                      rates, "]", more, "}");
}

std::string Refusal(const std::string& models) {
  return std::string(
      ParseModelDays(absl::StrCat(R"({"models": [)", models, "]}"), "m.json")
          .status()
          .message());
}

TEST(ModelDaysTest, TakesEveryKey) {
  const auto days = ParseModelDays(
      absl::StrCat(R"({"models": [)", Model(Hours(24)), "]}"), "m.json");
  ASSERT_TRUE(days.ok()) << days.status();
  ASSERT_EQ(days->size(), 1U);
  EXPECT_EQ(days->front().name, "a");
  EXPECT_EQ(days->front().lambda_max, 100);
  EXPECT_EQ(days->front().peak_rates[23], 5);
}

TEST(ModelDaysTest, WrongFilesAreRefusedByTheirPlace) {
  EXPECT_THAT(Refusal(""), HasSubstr("m.json: models: expected a list"));
  EXPECT_THAT(Refusal(Model(Hours(23))),
              HasSubstr("models[0]: peak_rates: expected 24 numbers"));
  EXPECT_THAT(Refusal(Model(Hours(24, "-1"))), HasSubstr("peak_rates"));
  EXPECT_THAT(Refusal(Model(Hours(24, "\"5\""))), HasSubstr("peak_rates"));
  EXPECT_THAT(Refusal(Model(Hours(24, "0"))), HasSubstr("above 0"));
  EXPECT_THAT(Refusal(Model(Hours(24), R"(, "slo": 1)")), HasSubstr("'slo'"));
  EXPECT_THAT(Refusal(Model(Hours(24)) + ", " + Model(Hours(24))),
              HasSubstr("models[1]: expected each model once"));
  EXPECT_THAT(Refusal(R"({"name": "a", "lambda_max": 0, "peak_rates": [)" +
                      Hours(24) + "]}"),
              HasSubstr("lambda_max: expected"));
  EXPECT_THAT(std::string(ParseModelDays("{", "m.json").status().message()),
              HasSubstr("m.json: expected JSON"));
  EXPECT_THAT(std::string(ParseModelDays("[]", "m.json").status().message()),
              HasSubstr("expected an object"));
}

}  // namespace
}  // namespace ferry::plan
