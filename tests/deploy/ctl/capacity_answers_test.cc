// Tests the answers about capacity.
#include "deploy/ctl/capacity_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CapacityAnswerTest, BothRoundingsAreToldOfTheArticlesExample) {
  const auto answer = CapacityAnswer(
      {.lambda_max = 200, .peak_rate = 500, .headroom = 1 / 1.2, .spares = 0},
      "given");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->sentence, HasSubstr("takes 3 devices of 200"));
  EXPECT_THAT(AnswerText(*answer),
              AllOf(HasSubstr("rounded once it is 3"),
                    HasSubstr("rounded twice, as articles have it, 4")));
  EXPECT_EQ(answer->gravest(), Severity::kWarning) << "no device to lose";
}

TEST(CapacityAnswerTest, ASpareCoversTheLossOfADevice) {
  const auto answer =
      CapacityAnswer({.lambda_max = 200, .peak_rate = 500}, "given");
  EXPECT_THAT(answer->sentence,
              HasSubstr("5 devices of 200 requests/s each: 4 for the peak, 1 "
                        "to lose."));
  EXPECT_NE(answer->gravest(), Severity::kWarning);
}

TEST(CapacityAnswerTest, NonsenseIsRefused) {
  EXPECT_THAT(std::string(CapacityAnswer({.lambda_max = 0, .peak_rate = 1}, "")
                              .status()
                              .message()),
              HasSubstr("lambda_max: expected"));
}

TEST(SharedCapacityAnswerTest, SharedDevicesBesideOnesOfTheirOwn) {
  plan::ModelDay day = {.name = "day", .lambda_max = 100, .peak_rates = {}};
  plan::ModelDay night = {.name = "night", .lambda_max = 10, .peak_rates = {}};
  day.peak_rates[9] = 60;
  night.peak_rates[21] = 6;
  const auto answer = SharedCapacityAnswer({day, night}, 0.7, 1);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(
      answer->sentence,
      AllOf(HasSubstr("2 models that share devices take 2 devices, 1 for the "
                      "busiest hour, 9 o'clock"),
            HasSubstr("of their own, 2 devices and spares of each")));
  EXPECT_EQ(answer->table.rows.size(), plan::kHoursOfDay);
  EXPECT_EQ(answer->table.rows[21][0], "21:00");
  EXPECT_EQ(answer->table.rows[21][1], "0.86");
  EXPECT_FALSE(SharedCapacityAnswer({day}, 0.7, -1).ok());
}

}  // namespace
}  // namespace ferry::ctl
