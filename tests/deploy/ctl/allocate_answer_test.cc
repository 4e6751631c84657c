// Tests what people, and programs that read FOCUS, are told of a device's
// price.
#include "deploy/ctl/allocate_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MeasuredUse Use() {
  const absl::Time begin = absl::FromUnixSeconds(1767225600);  // 2026-01-01
  return {.begin = begin,
          .end = begin + absl::Hours(10),
          .source = "test",
          .device = "MIG-1",
          .models = {{.model = "chat", .client = "", .seconds = 18'000}},
          .clients = {{.model = "chat", .client = "a", .seconds = 12'000}}};
}

plan::DatedPrices Prices() {
  return {.file = {.currency = "USD",
                   .as_of = "2026-01-01",
                   .source = "test",
                   .rows = {{.device = "L4", .region = "r", .per_hour = 0.80}}},
          .age_warning = ""};
}

TEST(AllocateAnswerTest, SharesAndIdleAreTold) {
  const auto answer = AllocateAnswer(Use(), Prices(), {.device = "L4"}, false);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->sentence, "Of 8.00 USD, 4.00 (50.0 %) paid for idle time.");
  EXPECT_THAT(
      answer->table.rows,
      testing::ElementsAre(
          testing::ElementsAre("chat", "a", "12000.0", "33.3", "2.67"),
          testing::ElementsAre("chat", "(not known)", "6000.0", "16.7", "1.33"),
          testing::ElementsAre("(idle)", "", "18000.0", "50.0", "4.00")));
  EXPECT_TRUE(answer->artifact.empty());
}

TEST(AllocateAnswerTest, TheTableHasTheColumnsOfFocus) {
  MeasuredUse use = Use();
  use.clients[0].client = "a \"b\"";
  const auto answer = AllocateAnswer(use, Prices(), {.device = "L4"}, true);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(
      answer->artifact,
      "ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ChargeDescription,"
      "BillingCurrency,EffectiveCost,ConsumedQuantity,ConsumedUnit,ResourceId,"
      "ServiceName,Tags\n"
      "2026-01-01T00:00:00Z,2026-01-01T10:00:00Z,Usage,compute,\"USD\",2.67,"
      "12000.000,Seconds,\"MIG-1\",Ferry,"
      "\"{\"\"model\"\":\"\"chat\"\",\"\"client\"\":\"\"a "
      "\\\"\"b\\\"\"\"\"}\"\n"
      "2026-01-01T00:00:00Z,2026-01-01T10:00:00Z,Usage,compute,\"USD\",1.33,"
      "6000.000,Seconds,\"MIG-1\",Ferry,\"{\"\"model\"\":\"\"chat\"\"}\"\n"
      "2026-01-01T00:00:00Z,2026-01-01T10:00:00Z,Usage,idle,\"USD\",4.00,"
      "18000.000,Seconds,\"MIG-1\",Ferry,\"{}\"\n");
}

TEST(AllocateAnswerTest, WithoutTokensClientsAreNotKnown) {
  MeasuredUse use = Use();
  use.clients.clear();
  const auto answer = AllocateAnswer(use, Prices(), {.device = "L4"}, false);
  EXPECT_THAT(AnswerText(*answer), AllOf(HasSubstr("no client was counted"),
                                         HasSubstr("(not known)")));
}

TEST(AllocateAnswerTest, APriceThatIsNotThereIsNotFound) {
  EXPECT_EQ(AllocateAnswer(Use(), Prices(), {.device = "B200"}, false)
                .status()
                .code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace ferry::ctl
