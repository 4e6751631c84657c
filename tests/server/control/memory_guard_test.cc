// Tests MemoryGuard on memory that the test counts, and on the process's own.
#include "server/control/memory_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "tests/server/logged_text.h"

namespace ferry {
namespace {

constexpr int64_t kLimit = 1000;
constexpr uint64_t kLarge = MemoryGuard::kSmall + 1;

using testing::HasSubstr;
using testing::IsEmpty;

class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuard Guard(const MemoryBounds& bounds) {
    return MemoryGuard(bounds, kLimit,
                       {.used = [this] { return used_; },
                        .give_back =
                            [this] {
                              *used_ -= free_;
                              free_ = 0;
                              ++given_;
                            }});
  }

  std::optional<int64_t> used_ = 0;
  int64_t free_ = 0;
  int given_ = 0;
};

TEST_F(MemoryGuardTest, LargeRequestsAreRefusedWhileMemoryIsShort) {
  MemoryGuard guard = Guard({.refuse_percent = 90, .end_percent = 97});
  used_ = 900;
  EXPECT_EQ(guard.Look(), std::nullopt);
  EXPECT_TRUE(guard.Takes(kLarge));
  EXPECT_EQ(given_, 0);
  used_ = 901;
  EXPECT_EQ(guard.Look(), std::nullopt);
  EXPECT_TRUE(guard.is_short());
  EXPECT_FALSE(guard.Takes(kLarge));
  EXPECT_TRUE(guard.Takes(MemoryGuard::kSmall));
  used_ = 800;
  EXPECT_EQ(guard.Look(), std::nullopt);
  EXPECT_TRUE(guard.Takes(kLarge));
}

TEST_F(MemoryGuardTest, WithoutAnAnswerOfTheSystemAllStaysAsItIs) {
  MemoryGuard guard = Guard({.refuse_percent = 90, .end_percent = 97});
  used_ = 901;
  EXPECT_EQ(guard.Look(), std::nullopt);
  LoggedText logged;
  used_ = std::nullopt;
  EXPECT_EQ(guard.Look(), std::nullopt);
  EXPECT_TRUE(guard.is_short());
  EXPECT_EQ(guard.used(), 901);
  EXPECT_THAT(logged.Take(), IsEmpty());
}

TEST_F(MemoryGuardTest, LogIsToldOfEachChangeOnce) {
  MemoryGuard guard = Guard({.refuse_percent = 90, .end_percent = 97});
  LoggedText logged;
  guard.Look();
  EXPECT_THAT(logged.Take(), IsEmpty());
  used_ = 901;
  guard.Look();
  EXPECT_THAT(logged.Take(), HasSubstr("larger than 64 KiB are refused"));
  guard.Look();
  EXPECT_THAT(logged.Take(), IsEmpty());
  used_ = 800;
  guard.Look();
  EXPECT_THAT(logged.Take(), HasSubstr("large requests are taken again"));
  guard.Look();
  EXPECT_THAT(logged.Take(), IsEmpty());
}

TEST_F(MemoryGuardTest, WhatIsFreeIsGivenBackFirst) {
  MemoryGuard guard = Guard({.refuse_percent = 90, .end_percent = 97});
  used_ = 999;
  free_ = 500;
  EXPECT_EQ(guard.Look(), std::nullopt);
  EXPECT_EQ(given_, 1);
  EXPECT_EQ(guard.used(), 499);
  EXPECT_FALSE(guard.is_short());
}

TEST_F(MemoryGuardTest, ProcessEndsBeforeTheSystemEndsIt) {
  MemoryGuard guard = Guard({.refuse_percent = 90, .end_percent = 97});
  used_ = 970;
  EXPECT_EQ(guard.Look(), std::nullopt);
  used_ = 971;
  EXPECT_EQ(guard.Look(), "memory runs out used_mib=0 limit_mib=0");
}

TEST_F(MemoryGuardTest, PercentOfZeroIsNever) {
  MemoryGuard never = Guard({.refuse_percent = 0, .end_percent = 0});
  used_ = 10 * kLimit;
  EXPECT_EQ(never.Look(), std::nullopt);
  EXPECT_TRUE(never.Takes(kLarge));
  EXPECT_EQ(given_, 0);
}

TEST(MemoryOfProcessTest, UsedGrowsByWhatIsTouched) {
  const MemoryGuard::Memory memory = MemoryGuard::OfProcess();
  const int64_t before = memory.used().value_or(0);
  EXPECT_GT(before, 0);
  constexpr size_t kBytes = size_t{64} << 20;
  std::vector<char> touched(kBytes, 1);
  EXPECT_GT(memory.used(), before + static_cast<int64_t>(kBytes / 2));
  EXPECT_EQ(touched.back(), 1);
}

}  // namespace
}  // namespace ferry
