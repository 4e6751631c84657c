// Tests that files are read again and again, and that a folder which does not
// answer is told of once.
#include "server/auth/trust_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/server/logged_text.h"
#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TrustWatchTest, EachLookReads) {
  std::atomic<int> reads{0};
  TrustWatch watch([&reads] { ++reads; });
  for (int wanted = 1; wanted <= 3; ++wanted) {
    while (reads < wanted) {
      watch.Look();
      std::this_thread::yield();
    }
  }
  EXPECT_FALSE(watch.is_stalled());
}

TEST(TrustWatchTest, FolderThatStallsIsToldOnceAndHoldsNoLook) {
  LoggedText logged;
  FakeClock clock;
  std::promise<void> has_come;
  std::promise<void> may_go;
  std::atomic<int> reads{0};
  TrustWatch watch(
      [&] {
        if (++reads == 1) {
          has_come.set_value();
          may_go.get_future().wait();
        }
      },
      clock);
  watch.Look();
  has_come.get_future().wait();
  clock.Advance(TrustWatch::kStalls - Milliseconds(1));
  watch.Look();
  EXPECT_FALSE(watch.is_stalled());
  EXPECT_THAT(logged.Take(), IsEmpty());
  clock.Advance(Milliseconds(1));
  watch.Look();
  EXPECT_TRUE(watch.is_stalled());
  EXPECT_THAT(logged.Take(), HasSubstr("got none for 5 s"));
  watch.Look();
  EXPECT_THAT(logged.Take(), IsEmpty());
  EXPECT_EQ(reads, 1);
  may_go.set_value();
  while (watch.is_stalled()) {
    std::this_thread::yield();
    watch.Look();
  }
  EXPECT_THAT(logged.Take(), HasSubstr("answer again"));
}

}  // namespace
}  // namespace ferry
