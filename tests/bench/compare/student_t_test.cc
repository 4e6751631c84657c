// Tests Student's t against the tables and the closed forms.
#include "bench/compare/student_t.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ferry::bench {
namespace {

// Abramowitz and Stegun, table 26.10.
TEST(StudentTTest, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 2), 4.303, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 4), 2.776, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.01, 4), 4.604, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 29), 2.045, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.05, 1e9), 1.960, 5e-4);
}

// With one degree it is Cauchy's, with two it has a closed form.
TEST(StudentTTest, ChancesAreThoseOfTheClosedForms) {
  for (const double t : {0.1, 1.0, 3.0, 30.0}) {
    EXPECT_NEAR(StudentTwoSided(t, 1), 1 - 2 * std::atan(t) / M_PI, 1e-12);
    EXPECT_NEAR(StudentTwoSided(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-12);
    EXPECT_NEAR(StudentTwoSided(-t, 2), StudentTwoSided(t, 2), 1e-15);
  }
  EXPECT_DOUBLE_EQ(StudentTwoSided(0, 7), 1);
}

TEST(StudentTTest, QuantileTurnsTheChanceAround) {
  for (const double degrees : {1.0, 2.5, 9.0, 200.0}) {
    for (const double chance : {0.5, 0.05, 0.001}) {
      EXPECT_NEAR(StudentTwoSided(StudentQuantile(chance, degrees), degrees),
                  chance, 1e-9);
    }
  }
}

}  // namespace
}  // namespace ferry::bench
