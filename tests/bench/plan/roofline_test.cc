// Tests the roofline by cases that a hand can compute.
#include "bench/plan/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ferry::plan {
namespace {

using ::testing::HasSubstr;

// A model of 7e9 parameters in bf16 on 312 TFLOP/s and 2.0 TB/s.
RooflineInput Large(int64_t rows) {
  return {.flops_per_row = 14e9,
          .bytes_per_row = 0,
          .weight_bytes = 14e9,
          .rows = rows,
          .peak_flops = 312e12,
          .peak_bytes = 2.0e12};
}

TEST(RooflineTest, ARowOfALargeModelIsBoundByMemory) {
  const auto roofline = PlanRoofline(Large(1));
  ASSERT_TRUE(roofline.ok()) << roofline.status();
  EXPECT_DOUBLE_EQ(roofline->memory_s, 0.007);
  EXPECT_NEAR(roofline->compute_s, 0.0000449, 1e-7);
  EXPECT_TRUE(roofline->is_memory_bound());
  EXPECT_DOUBLE_EQ(roofline->intensity, 1);
  EXPECT_DOUBLE_EQ(roofline->ridge, 156);
  EXPECT_NEAR(roofline->rows_s, 142.86, 0.01);
}

TEST(RooflineTest, FromTheRidgeOnArithmeticIsTheBound) {
  ASSERT_EQ(PlanRoofline(Large(1))->ridge_rows, 156);
  EXPECT_FALSE(PlanRoofline(Large(156))->is_memory_bound());
  EXPECT_TRUE(PlanRoofline(Large(155))->is_memory_bound());
}

TEST(RooflineTest, NoBatchHelpsWhatReadsMuchInEachRow) {
  // An addition of two floats: one operation, 12 bytes.
  const RooflineInput input = {.flops_per_row = 1,
                               .bytes_per_row = 12,
                               .weight_bytes = 0,
                               .rows = 1'000'000,
                               .peak_flops = 312e12,
                               .peak_bytes = 2.0e12};
  const auto roofline = PlanRoofline(input);
  ASSERT_TRUE(roofline.ok()) << roofline.status();
  EXPECT_TRUE(roofline->is_memory_bound());
  EXPECT_EQ(roofline->ridge_rows, std::nullopt);
}

TEST(RooflineTest, WhatMakesNoSenseIsRefused) {
  const auto refusal = [](const RooflineInput& input) {
    return std::string(PlanRoofline(input).status().message());
  };
  RooflineInput input = Large(1);
  input.flops_per_row = 0;
  EXPECT_THAT(refusal(input), HasSubstr("operations of a row: expected 1"));
  input = Large(0);
  EXPECT_THAT(refusal(input), HasSubstr("rows: expected"));
  input = Large(1);
  input.weight_bytes = 0;
  EXPECT_THAT(refusal(input),
              HasSubstr("bytes of a row and the weights: expected"));
}

}  // namespace
}  // namespace ferry::plan
