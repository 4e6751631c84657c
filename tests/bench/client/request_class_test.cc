// Tests classes as typed, and the shares in which requests are of them.
#include "bench/client/request_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RequestClassTest, PartsAreRead) {
  const auto read = ParseRequestClass(
      "urgent:weight=0.2,rows=4,priority=1,deadline_ms=50,timeout_ms=0.5,"
      "cancel=0.1,cancel_ms=5,model=m,shape=ids:16x4,shape=xy:3,"
      "data=real/inputs.json",
      {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, "urgent");
  EXPECT_EQ(read->weight, 0.2);
  EXPECT_EQ(read->rows, 4);
  EXPECT_EQ(read->priority, 1);
  EXPECT_EQ(read->deadline, Milliseconds(50));
  EXPECT_EQ(read->timeout, Milliseconds(0.5));
  EXPECT_EQ(read->cancel_share, 0.1);
  EXPECT_EQ(read->cancel_after, Milliseconds(5));
  EXPECT_EQ(read->model, "m");
  EXPECT_THAT(read->shapes, ElementsAre("ids:16,4", "xy:3"));
  EXPECT_EQ(read->data, "real/inputs.json");
}

TEST(RequestClassTest, WhatIsNotSaidIsAsOtherwise) {
  RequestClass defaults;
  defaults.rows = 8;
  defaults.deadline = Milliseconds(20);
  const auto read = ParseRequestClass("bulk:priority=2", defaults);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rows, 8);
  EXPECT_EQ(read->deadline, Milliseconds(20));
  EXPECT_EQ(ParseRequestClass("bulk", defaults)->rows, 8);
}

TEST(RequestClassTest, WhatIsNoClassIsRefused) {
  for (const char* text :
       {"", ":rows=1", "rows=1", "weight=0.2,rows=4", "a:rows", "a:rows=0",
        "a:rows=x", "a:weight=0", "a:cancel=2", "a:deadline_ms=-1",
        "a:color=red", "a:shape=16", "a:model=", "a:data="}) {
    EXPECT_THAT(std::string(ParseRequestClass(text, {}).status().message()),
                HasSubstr("--class: expected NAME:KEY=VALUE"))
        << text;
  }
  EXPECT_THAT(
      std::string(
          ParseRequestClass("a:rows=2,weight=0", {}).status().message()),
      HasSubstr("got 'weight=0' in 'a:rows=2,weight=0'"));
}

TEST(ClassPickerTest, RequestsAreOfClassesByTheirWeights) {
  const ClassPicker picker({1, 3, 6});
  int of[3] = {0, 0, 0};
  int cancelled_of_first = 0;
  for (uint64_t number = 0; number < 100'000; ++number) {
    const size_t index = picker.ClassOf(number);
    ASSERT_LT(index, 3U);
    ASSERT_EQ(index, picker.ClassOf(number));
    ++of[index];
    cancelled_of_first +=
        index == 0 && ClassPicker::IsOfShare(number, 0.25) ? 1 : 0;
  }
  EXPECT_NEAR(of[0], 10'000, 400);
  EXPECT_NEAR(of[1], 30'000, 600);
  EXPECT_NEAR(of[2], 60'000, 600);
  EXPECT_NEAR(cancelled_of_first, 2'500, 200) << "independent of the class";
  EXPECT_FALSE(ClassPicker::IsOfShare(1, 0));
  EXPECT_TRUE(ClassPicker::IsOfShare(1, 1));
}

}  // namespace
}  // namespace ferry::bench
