// Tests what the line says of a load, and of all of them.
#include "bench/commands/progress_line.h"

#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

LoadProgress UnderWay() {
  return {.left = Milliseconds(12'000),
          .measured = Milliseconds(2000),
          .ok = 2000,
          .failed = 1,
          .p50_ns = 1'200'000,
          .p99_ns = 3'400'000};
}

TEST(ProgressLineTest, SaysHowTheLoadDoes) {
  EXPECT_EQ(Describe(UnderWay()),
            "12 s left, 1000/s, p50 1.20 ms, p99 3.40 ms, 1 failed");
  EXPECT_EQ(Describe(LoadProgress{.left = Milliseconds(3000)}),
            "warming up, 3 s left");
}

TEST(ProgressLineTest, SaysAboutHowLongAllOfThemTake) {
  const std::string load = Describe(UnderWay());
  EXPECT_EQ(Describe(UnderWay(), Milliseconds(528'000)),
            "about 9 min left in all; " + load);
  EXPECT_EQ(Describe(UnderWay(), Milliseconds(30'000)),
            "about 42 s left in all; " + load);
  EXPECT_EQ(Describe(UnderWay(), Duration(0)),
            "about 12 s left in all; " + load)
      << "no less than the load under way";
}

}  // namespace
}  // namespace ferry::bench
