// Tests that shares of a price are by compute seconds, and sum up to the cent.
#include "bench/plan/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

// A device at 3.00 for ten hours: 36,000 s.
AllocationInput TenHours() {
  return {.hours = 10,
          .per_hour = 3,
          .models = {{.model = "chat", .client = "", .seconds = 12'000},
                     {.model = "ocr", .client = "", .seconds = 6000}},
          .clients = {{.model = "chat", .client = "a", .seconds = 9000},
                      {.model = "chat", .client = "b", .seconds = 3000},
                      {.model = "ocr", .client = "a", .seconds = 2000}}};
}

int64_t CentsOf(const Allocation& allocation, const std::string& model,
                const std::string& client) {
  for (const CostShare& one : allocation.shares) {
    if (one.use.model == model && one.use.client == client) {
      return one.cents;
    }
  }
  ADD_FAILURE() << model << ' ' << client;
  return 0;
}

int64_t SumOf(const Allocation& allocation) {
  int64_t cents = 0;
  for (const CostShare& one : allocation.shares) {
    cents += one.cents;
  }
  return cents;
}

TEST(AllocationTest, ModelsAndClientsHaveTheirPartAndIdleIsApart) {
  const auto allocation = Allocate(TenHours());
  ASSERT_TRUE(allocation.ok()) << allocation.status();
  EXPECT_EQ(allocation->cents, 3000);
  EXPECT_EQ(CentsOf(*allocation, "chat", "a"), 750);
  EXPECT_EQ(CentsOf(*allocation, "chat", "b"), 250);
  EXPECT_EQ(CentsOf(*allocation, "ocr", "a"), 167);
  EXPECT_EQ(CentsOf(*allocation, "ocr", ""), 333);  // of no known client
  EXPECT_EQ(CentsOf(*allocation, "", ""), 1500);
  EXPECT_DOUBLE_EQ(allocation->idle_share, 0.5);
  EXPECT_EQ(SumOf(*allocation), 3000);
}

TEST(AllocationTest, CentsAreThoseOfThePriceWhateverIsRounded) {
  for (const int parts : {1, 3, 7, 11, 97}) {
    AllocationInput input = {
        .hours = 1,
        .per_hour = 1.01,
        .models = {{.model = "m", .client = "", .seconds = 3600}},
        .clients = {}};
    for (int i = 0; i < parts; ++i) {
      input.clients.push_back({.model = "m",
                               .client = std::to_string(i),
                               .seconds = 3600.0 / parts});
    }
    const auto allocation = Allocate(input);
    ASSERT_TRUE(allocation.ok()) << allocation.status();
    EXPECT_EQ(SumOf(*allocation), 101) << parts;
    EXPECT_EQ(CentsOf(*allocation, "", ""), 0) << parts;
  }
}

TEST(AllocationTest, InstancesThatComputeAtOnceLeaveNothingIdle) {
  AllocationInput input = TenHours();
  input.models[0].seconds = 66'000;
  const auto allocation = Allocate(input);
  EXPECT_DOUBLE_EQ(allocation->idle_share, 0);
  EXPECT_EQ(SumOf(*allocation), 3000);
  EXPECT_EQ(CentsOf(*allocation, "ocr", "a"), 83);
}

TEST(AllocationTest, ClientsNeverHaveMoreThanTheirModel) {
  AllocationInput input = TenHours();
  input.clients[0].seconds = 15'000;  // read a moment later
  const auto allocation = Allocate(input);
  EXPECT_EQ(
      CentsOf(*allocation, "chat", "a") + CentsOf(*allocation, "chat", "b"),
      1000);
  EXPECT_EQ(SumOf(*allocation), 3000);
}

TEST(AllocationTest, ADeviceThatDidNothingIdled) {
  const auto allocation =
      Allocate({.hours = 10, .per_hour = 3, .models = {}, .clients = {}});
  ASSERT_TRUE(allocation.ok()) << allocation.status();
  EXPECT_EQ(CentsOf(*allocation, "", ""), 3000);
}

TEST(AllocationTest, NonsenseIsRefused) {
  const auto refusal = [](const AllocationInput& input) {
    return std::string(Allocate(input).status().message());
  };
  AllocationInput input = TenHours();
  input.hours = 0;
  EXPECT_THAT(refusal(input), HasSubstr("hours: expected"));
  input = TenHours();
  input.models[0].seconds = -1;
  EXPECT_THAT(refusal(input), HasSubstr("compute seconds of chat: expected"));
  input = TenHours();
  input.clients[0].model = "gone";
  EXPECT_THAT(refusal(input),
              HasSubstr("client a: expected a model that computed, got gone"));
}

}  // namespace
}  // namespace ferry::plan
