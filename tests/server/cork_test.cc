// Which sends wait for company.
#include "server/cork.h"

#include <gtest/gtest.h>

#include <vector>

namespace ferry {
namespace {

using Sockets = std::vector<int>;

constexpr size_t kSmall = 100;  // bytes

class CorkTest : public ::testing::Test {
 protected:
  bool Holds(int socket, size_t bytes = kSmall) {
    return cork_.Holds(socket, bytes, now_,
                       [this](int s) { pushed_.push_back(s); });
  }
  void Passed() {
    cork_.Passed(now_, [this](int s) { pushed_.push_back(s); });
  }
  void End() {
    cork_.End([this](int s) { pushed_.push_back(s); });
  }
  // A burst of so many sends; returns whether they were held.
  bool Burst(int sends, int sockets) {
    cork_.Begin();
    const bool is_on = cork_.is_on();
    for (int i = 0; i < sends; ++i) {
      EXPECT_EQ(Holds(i % sockets), is_on);
    }
    End();
    return is_on;
  }

  Cork cork_;
  TimePoint now_;
  Sockets pushed_;
};

TEST_F(CorkTest, NothingIsHeldOutsideABurst) {
  EXPECT_FALSE(Holds(3));
  cork_.Begin();
  End();
  EXPECT_FALSE(Holds(3));
  EXPECT_EQ(pushed_, Sockets());
}

TEST_F(CorkTest, TheEndPushesEachSocketOnce) {
  cork_.Begin();
  for (const int socket : {3, 4, 3, 3}) {
    EXPECT_TRUE(Holds(socket));
  }
  EXPECT_EQ(pushed_, Sockets());
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 4}));
  cork_.Begin();
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 4})) << "nothing was held since";
}

TEST_F(CorkTest, LargeSendsGoAtOnce) {
  cork_.Begin();
  EXPECT_TRUE(Holds(3, Cork::kMaxBytes));
  EXPECT_FALSE(Holds(4, Cork::kMaxBytes + 1));
  EXPECT_EQ(pushed_, Sockets{3}) << "it may take long, and small ones wait";
  EXPECT_TRUE(Holds(5));
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 5}));
}

TEST_F(CorkTest, NoneIsHeldForLong) {
  cork_.Begin();
  EXPECT_TRUE(Holds(3));
  now_ += Cork::kMaxHold;
  EXPECT_TRUE(Holds(3));
  EXPECT_EQ(pushed_, Sockets());
  now_ += Duration(1);
  EXPECT_TRUE(Holds(4));
  EXPECT_EQ(pushed_, Sockets{3});
  now_ += Cork::kMaxHold;
  EXPECT_TRUE(Holds(4)) << "counted from the first of what is held";
  EXPECT_EQ(pushed_, Sockets{3});
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 4}));
}

TEST_F(CorkTest, WhatPassesItsTimeGoesWithoutAnotherSend) {
  cork_.Begin();
  now_ += 2 * Cork::kMaxHold;
  Passed();
  EXPECT_EQ(pushed_, Sockets());
  EXPECT_TRUE(Holds(3));
  EXPECT_TRUE(Holds(4));
  now_ += Cork::kMaxHold;
  Passed();
  EXPECT_EQ(pushed_, Sockets());
  now_ += Duration(1);
  Passed();
  EXPECT_EQ(pushed_, (Sockets{3, 4}));
  Passed();
  EXPECT_EQ(pushed_, (Sockets{3, 4})) << "nothing was held since";
  EXPECT_TRUE(Holds(3));
  Passed();
  EXPECT_EQ(pushed_, (Sockets{3, 4})) << "its own time has just begun";
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 4, 3}));
}

TEST_F(CorkTest, NoMoreThanSoManyAreHeld) {
  cork_.Begin();
  for (int i = 0; i < Cork::kMaxHeld; ++i) {
    EXPECT_TRUE(Holds(3));
  }
  EXPECT_EQ(pushed_, Sockets());
  EXPECT_TRUE(Holds(4));
  EXPECT_EQ(pushed_, Sockets{3});
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 4}));
}

TEST_F(CorkTest, TheOutermostBurstCounts) {
  cork_.Begin();
  EXPECT_TRUE(Holds(3));
  cork_.Begin();
  EXPECT_TRUE(Holds(4));
  End();
  EXPECT_EQ(pushed_, Sockets());
  EXPECT_TRUE(Holds(3));
  End();
  EXPECT_EQ(pushed_, (Sockets{3, 4}));
}

TEST_F(CorkTest, WithoutCompanyItPausesAndTriesAgain) {
  static_assert(Cork::kWindow % 16 == 0);
  for (int window = 0; window < 3; ++window) {
    for (int sends = 0; sends < Cork::kWindow; sends += 16) {
      EXPECT_TRUE(Burst(16, 16)) << window;
    }
    for (int i = 0; i < Cork::kPause; ++i) {
      EXPECT_FALSE(Burst(16, 16)) << window << ", " << i;
    }
  }
}

TEST_F(CorkTest, AnEighthInCompanyIsEnough) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Burst(16, 14)) << i;
  }
  for (int sends = 0; sends < Cork::kWindow; sends += 16) {
    Burst(16, 15);
  }
  EXPECT_FALSE(Burst(16, 15));
}

}  // namespace
}  // namespace ferry
