// Tests that RelaxedCopy loads what is stored, also while a thread stores.
#include "base/relaxed_copy.h"

#include <gtest/gtest.h>

#include <thread>

namespace ferry {
namespace {

struct Pair {
  int64_t first = 1;
  double second = 2;
};

TEST(RelaxedCopy, BeginsWithTheDefaultAndKeepsWhatIsStored) {
  RelaxedCopy<Pair> copy;
  EXPECT_EQ(copy.Load().first, 1);
  EXPECT_EQ(copy.Load().second, 2);
  copy.Store({3, 4});
  EXPECT_EQ(copy.Load().first, 3);
  EXPECT_EQ(copy.Load().second, 4);
}

TEST(RelaxedCopy, ReaderSeesWholeWords) {
  RelaxedCopy<Pair> copy(Pair{0, 0});
  std::thread writer([&] {
    for (int64_t i = 1; i <= 100'000; ++i) {
      copy.Store({i, static_cast<double>(i)});
    }
  });
  int64_t last = 0;
  while (last < 100'000) {
    const Pair pair = copy.Load();
    EXPECT_GE(pair.first, last) << "a word does not go back";
    EXPECT_EQ(pair.second,
              static_cast<double>(static_cast<int64_t>(pair.second)));
    last = pair.first;
  }
  writer.join();
}

}  // namespace
}  // namespace ferry
