// The calling thread's slice, and nobody else's.
#include "bench/load/short_slice.h"

#include <gtest/gtest.h>

#include <thread>

namespace ferry::bench {
namespace {

TEST(ShortSliceTest, ItIsShortWhileItLives) {
  const uint64_t before = ShortSlice::OfThisThread();
  if (before == 0) {
    GTEST_SKIP() << "this system tells no slices (Linux 6.12 does)";
  }
  {
    const ShortSlice soon;
    EXPECT_EQ(ShortSlice::OfThisThread(), 100'000);
    {
      const ShortSlice again;
      EXPECT_EQ(ShortSlice::OfThisThread(), 100'000);
    }
    EXPECT_EQ(ShortSlice::OfThisThread(), 100'000);
  }
  EXPECT_EQ(ShortSlice::OfThisThread(), before);
}

TEST(ShortSliceTest, ThreadsThatWereThereKeepTheirs) {
  const uint64_t before = ShortSlice::OfThisThread();
  std::thread([] { const ShortSlice soon; }).join();
  EXPECT_EQ(ShortSlice::OfThisThread(), before);
}

}  // namespace
}  // namespace ferry::bench
