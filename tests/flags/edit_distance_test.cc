// Tests how far words are from each other.
#include "flags/edit_distance.h"

#include <gtest/gtest.h>

namespace ferry {
namespace {

TEST(EditDistanceTest, CountsLettersThatDiffer) {
  const struct {
    const char* a;
    const char* b;
    size_t distance;
  } kCases[] = {
      {"", "", 0},
      {"", "abc", 3},
      {"policy", "policy", 0},
      {"polic", "policy", 1},
      {"policyy", "policy", 1},
      {"pollcy", "policy", 1},
      {"polciy", "policy", 1},
      {"opliyc", "policy", 2},
      {"rates", "policy", 6},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(EditDistance(one.a, one.b), one.distance) << one.a;
    EXPECT_EQ(EditDistance(one.b, one.a), one.distance) << one.a;
  }
}

}  // namespace
}  // namespace ferry
