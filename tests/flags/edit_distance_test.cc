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
    EXPECT_EQ(EditDistance(one.a, one.b, 6), one.distance) << one.a;
    EXPECT_EQ(EditDistance(one.b, one.a, 6), one.distance) << one.a;
  }
}

TEST(EditDistanceTest, SaysOneMoreThanTheMostForAllThatIsFarther) {
  EXPECT_EQ(EditDistance("opliyc", "policy", 2), 2u);
  EXPECT_EQ(EditDistance("opliyc", "policy", 1), 2u);
  EXPECT_EQ(EditDistance("rates", "policy", 2), 3u);
  EXPECT_EQ(EditDistance("policy", "policy of the scheduler", 3), 4u);
  EXPECT_EQ(EditDistance("", "a", 0), 1u);
}

}  // namespace
}  // namespace ferry
