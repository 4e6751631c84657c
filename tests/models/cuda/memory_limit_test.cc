// Tests how much LibTorch's allocator may hold beside what others do.
#include "models/cuda/memory_limit.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

namespace ferry {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;
constexpr uint64_t kTotal = 16384 * kMib;
constexpr uint64_t kSlack = 128 * kMib;

// With so much beside an allocator that holds `reserved`.
MemoryUse With(uint64_t beside, uint64_t reserved = 0) {
  return {.total = kTotal,
          .free = kTotal - beside - reserved,
          .reserved = reserved};
}

// What a limit is set to by what is measured, if at all.
std::optional<uint64_t> SetBy(MemoryLimit& limit, const MemoryUse& use) {
  std::optional<uint64_t> set;
  limit.Learn(use, [&](uint64_t bytes) { set = bytes; });
  return set;
}

TEST(MemoryLimit, AllButWhatIsBesideAndTheSlackIsAllowed) {
  MemoryLimit limit(1);
  EXPECT_EQ(With(600 * kMib, 100 * kMib).beside(), 600 * kMib);
  EXPECT_EQ(SetBy(limit, With(600 * kMib, 100 * kMib)),
            kTotal - 600 * kMib - kSlack);
}

// Kernels that were loaded, graphs, another process.
TEST(MemoryLimit, ItFollowsWhatIsBeside) {
  MemoryLimit limit(1);
  SetBy(limit, With(600 * kMib));
  EXPECT_EQ(SetBy(limit, With(900 * kMib, 5000 * kMib)),
            kTotal - 900 * kMib - kSlack);
  EXPECT_EQ(SetBy(limit, With(700 * kMib)), kTotal - 700 * kMib - kSlack);
}

TEST(MemoryLimit, SmallChangesAreTheSlacks) {
  MemoryLimit limit(1);
  SetBy(limit, With(600 * kMib));
  EXPECT_EQ(SetBy(limit, With(600 * kMib, 100 * kMib)), std::nullopt);
  EXPECT_EQ(SetBy(limit, With(616 * kMib)), std::nullopt);
  EXPECT_EQ(SetBy(limit, With(584 * kMib)), std::nullopt);
  // By the limit in force, not by what was measured last.
  EXPECT_EQ(SetBy(limit, With(617 * kMib)), kTotal - 617 * kMib - kSlack);
}

TEST(MemoryLimit, ItIsNeverLessThanTheAllocatorHolds) {
  MemoryLimit limit(1);
  EXPECT_EQ(SetBy(limit, With(600 * kMib, kTotal - 650 * kMib)),
            kTotal - 650 * kMib);
}

TEST(MemoryLimit, OfASharedDeviceItIsAShareAtMost) {
  MemoryLimit limit(0.5);
  EXPECT_EQ(SetBy(limit, With(600 * kMib)), kTotal / 2 - kSlack);
  // The other has more than its own.
  EXPECT_EQ(SetBy(limit, With(10000 * kMib)), kTotal - 10000 * kMib - kSlack);
}

TEST(MemoryLimit, LimitThatCouldNotBeSetIsSetNextTime) {
  MemoryLimit limit(1);
  EXPECT_THROW(limit.Learn(With(600 * kMib),
                           [](uint64_t) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(SetBy(limit, With(600 * kMib)), kTotal - 600 * kMib - kSlack);
}

TEST(MemoryLimit, SmallDeviceHasLessSlack) {
  EXPECT_EQ(MemoryLimit::Slack(256 * kMib), 16 * kMib);
  EXPECT_EQ(MemoryLimit::Slack(80000 * kMib), kSlack);
}

// While another thread allocates it may say more than there is.
TEST(MemoryLimit, MeasureThatIsOffIsNoReasonToFail) {
  MemoryLimit limit(1);
  const MemoryUse off = {
      .total = kTotal, .free = kTotal, .reserved = 100 * kMib};
  EXPECT_EQ(off.beside(), 0u);
  EXPECT_EQ(SetBy(limit, off), kTotal - kSlack);
  EXPECT_EQ(SetBy(limit, {}), 0u);
}

}  // namespace
}  // namespace ferry
