// Tests that SharedRegions takes objects and ranges that are some, gives each
// client its own, and survives what clients do to their objects.
#include "server/codec/shared_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/server/codec/shared_object.h"

namespace ferry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

class SharedRegionsTest : public testing::Test {
 protected:
  SharedRegions regions_{
      {.regions = 3, .of_client = 2, .bytes = 1000, .waiting = 1000}};
  SharedObject object_{100};

  absl::Status Register(const std::string& name, uint64_t offset = 0,
                        uint64_t bytes = 100) {
    return regions_.Register("client", name, object_.key(), offset, bytes);
  }
  SharedRegions::Use Find(const std::string& name) {
    auto region = regions_.Find("client", name);
    EXPECT_TRUE(region.ok()) << region.status();
    return *region;
  }
};

TEST_F(SharedRegionsTest, WhatIsWrittenIsReadAtItsPlace) {
  ASSERT_TRUE(Register("whole").ok());
  ASSERT_TRUE(Register("part", 20, 30).ok());
  const std::array<std::byte, 3> bytes = {std::byte{1}, std::byte{2},
                                          std::byte{3}};
  ASSERT_TRUE(Find("part")->CheckRange(27, 3).ok());
  ASSERT_TRUE(Find("part")->Write(27, bytes).ok());
  std::array<std::byte, 3> read{};
  ASSERT_TRUE(Find("whole")->Read(47, absl::MakeSpan(read)).ok());
  EXPECT_EQ(read, bytes);
  EXPECT_TRUE(Find("part")->Read(30, {}).ok());
}

TEST_F(SharedRegionsTest, RangesAreCheckedWithoutOverflow) {
  for (const auto& [offset, bytes] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 101},
           {101, 0},
           {1, 100},
           {kMost, 1},
           {1, kMost},
           {kMost, kMost},
           {uint64_t{1} << 63, uint64_t{1} << 63}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Register("x", offset, bytes)))
        << offset << " " << bytes;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Register("x", 0, 0)));
  ASSERT_TRUE(Register("x", 50, 50).ok());
  for (const auto& [offset, bytes] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 51}, {51, 0}, {50, 1}, {kMost, 1}, {1, kMost}}) {
    EXPECT_THAT(Find("x")->CheckRange(offset, bytes).message(),
                HasSubstr("expected a range in the region of 50 bytes"));
  }
}

TEST_F(SharedRegionsTest, ObjectThatBecomesShorterIsAnErrorAndStaysShort) {
  ASSERT_TRUE(Register("x").ok());
  const SharedRegions::Use region = Find("x");
  object_.Resize(10);
  std::array<std::byte, 20> bytes{};
  EXPECT_THAT(region->Read(0, absl::MakeSpan(bytes)).message(),
              HasSubstr("has become shorter"));
  EXPECT_TRUE(absl::IsInvalidArgument(region->Write(0, bytes)));
  EXPECT_TRUE(absl::IsInvalidArgument(Register("y", 0, 11)));
  EXPECT_TRUE(Register("z", 0, 10).ok());
  EXPECT_TRUE(region->Write(0, absl::MakeConstSpan(bytes).first(10)).ok());
}

TEST_F(SharedRegionsTest, ObjectThatIsUnlinkedIsUsedOn) {
  ASSERT_TRUE(Register("x").ok());
  object_.Unlink();
  std::array<std::byte, 20> bytes{};
  EXPECT_TRUE(Find("x")->Read(80, absl::MakeSpan(bytes)).ok());
  EXPECT_TRUE(absl::IsNotFound(Register("y")));
}

TEST_F(SharedRegionsTest, KeysThatNameNoObjectAreRefused) {
  for (const std::string& key :
       {std::string(), std::string("/"), std::string("."), std::string(".."),
        std::string("/../etc/passwd"), std::string("a/b"), std::string("//x"),
        std::string("sem.x"), std::string("/sem.x"),
        std::string("cuda.shm.0.1.1"), std::string(255, 'x'),
        std::string("a\0b", 3)}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(regions_.Register("client", "x", key, 0, 1)))
        << key;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Register("")));
  EXPECT_TRUE(absl::IsInvalidArgument(Register(std::string(256, 'x'))));
  EXPECT_EQ(regions_.counts().regions, 0);
}

TEST_F(SharedRegionsTest, EachClientHasItsOwn) {
  ASSERT_TRUE(Register("x").ok());
  EXPECT_TRUE(absl::IsNotFound(regions_.Find("other", "x").status()));
  EXPECT_TRUE(absl::IsNotFound(regions_.Find("client", "y").status()));
  SharedObject others(10);
  EXPECT_TRUE(regions_.Register("other", "x", others.key(), 0, 1).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Register("x")));
  EXPECT_THAT(regions_.All("client"), ElementsAre(Key("x")));
  EXPECT_TRUE(regions_.All("none").empty());
  bool is_done = false;
  EXPECT_TRUE(regions_.Unregister("other", "", [&] { is_done = true; }).ok());
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(regions_.Find("client", "x").ok());
  EXPECT_TRUE(regions_.All("other").empty());
}

TEST_F(SharedRegionsTest, ObjectOfAnotherClientIsRefused) {
  ASSERT_TRUE(Register("x").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      regions_.Register("other", "y", object_.key(), 0, 1)));
  EXPECT_TRUE(regions_.Unregister("client", "", [] {}).ok());
  EXPECT_TRUE(regions_.Register("other", "y", object_.key(), 0, 1).ok());
}

TEST_F(SharedRegionsTest, RegionsAndBytesAreBounded) {
  SharedObject large(2000);
  EXPECT_TRUE(absl::IsResourceExhausted(
      regions_.Register("client", "large", large.key(), 0, 1001)));
  ASSERT_TRUE(regions_.Register("client", "large", large.key(), 0, 900).ok());
  ASSERT_TRUE(Register("x").ok());
  EXPECT_THAT(Register("y", 0, 1).message(),
              HasSubstr("at most 2 regions of one"));
  EXPECT_TRUE(absl::IsResourceExhausted(
      regions_.Register("other", "y", SharedObject(1).key(), 0, 1)));
  SharedRegions::Use x = Find("x");
  EXPECT_TRUE(regions_.Unregister("client", "x", [] {}).ok());
  EXPECT_EQ(regions_.counts().bytes, 1000) << "it is used";
  EXPECT_TRUE(absl::IsResourceExhausted(Register("x", 0, 1)));
  x.reset();
  ASSERT_TRUE(Register("x", 0, 1).ok());
  SharedObject others(1);
  ASSERT_TRUE(regions_.Register("other", "y", others.key(), 0, 1).ok());
  EXPECT_THAT(regions_.Register("other", "z", others.key(), 0, 1).message(),
              HasSubstr("at most 3 regions"));
  EXPECT_EQ(regions_.counts().regions, 3);
  EXPECT_EQ(regions_.counts().bytes, 902);
  EXPECT_TRUE(regions_.Unregister("client", "", [] {}).ok());
  EXPECT_TRUE(regions_.Unregister("other", "", [] {}).ok());
  EXPECT_EQ(regions_.counts().regions, 0);
  EXPECT_EQ(regions_.counts().bytes, 0);
}

TEST_F(SharedRegionsTest, ReservedDescriptorsAreNotTaken) {
  SharedRegions none({.first_reserved_file = 0});
  EXPECT_TRUE(absl::IsResourceExhausted(
      none.Register("client", "x", object_.key(), 0, 1)));
}

TEST_F(SharedRegionsTest, UnregisterIsDoneOnceNothingUsesThem) {
  ASSERT_TRUE(Register("x").ok());
  ASSERT_TRUE(Register("y").ok());
  SharedRegions::Use x = Find("x");
  SharedRegions::Use y = Find("y");
  int done = 0;
  const auto count = [&] { ++done; };
  EXPECT_TRUE(regions_.Unregister("client", "", count).ok());
  EXPECT_TRUE(absl::IsNotFound(regions_.Find("client", "x").status()));
  x.reset();
  EXPECT_EQ(done, 0);
  // Its client asks again.
  EXPECT_TRUE(regions_.Unregister("client", "y", count).ok());
  EXPECT_TRUE(regions_.Unregister("client", "", count).ok());
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(regions_.Unregister("client", "x", count).ok());
  EXPECT_TRUE(regions_.Unregister("other", "", count).ok());
  EXPECT_EQ(done, 2);
  ASSERT_TRUE(Register("y").ok());  // its name is free
  y.reset();
  EXPECT_EQ(done, 5);
}

TEST_F(SharedRegionsTest, CallsThatWaitAreBounded) {
  SharedRegions regions({.waiting = 2});
  ASSERT_TRUE(regions.Register("client", "x", object_.key(), 0, 100).ok());
  absl::StatusOr<SharedRegions::Use> x = regions.Find("client", "x");
  int done = 0;
  const auto count = [&] { ++done; };
  EXPECT_TRUE(regions.Unregister("client", "x", count).ok());
  EXPECT_TRUE(regions.Unregister("client", "x", count).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      regions.Unregister("client", "x", [] { FAIL() << "none is called"; })));
  EXPECT_EQ(done, 0);
  x = absl::NotFoundError("it is used no more");
  EXPECT_EQ(done, 2);
  EXPECT_TRUE(regions.Unregister("client", "x", count).ok());
  EXPECT_EQ(done, 3);
}

TEST_F(SharedRegionsTest, CloseTellsThoseThatWaitAndThoseThatCome) {
  ASSERT_TRUE(Register("x").ok());
  SharedRegions::Use x = Find("x");
  int done = 0;
  EXPECT_TRUE(regions_.Unregister("client", "", [&] { ++done; }).ok());
  EXPECT_EQ(done, 0);
  regions_.Close();
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(regions_.Unregister("client", "", [&] { ++done; }).ok());
  EXPECT_EQ(done, 2);
  x.reset();
  EXPECT_EQ(done, 2);
}

// For ThreadSanitizer.
TEST_F(SharedRegionsTest, ManyThreadsUseAndForgetThem) {
  std::atomic<int> done{0};
  constexpr int kTurns = 500;
  std::thread forgets([&] {
    for (int i = 0; i < kTurns; ++i) {
      Register("x").IgnoreError();
      EXPECT_TRUE(
          regions_.Unregister("client", i % 2 == 0 ? "x" : "", [&] { ++done; })
              .ok());
    }
  });
  std::vector<std::thread> uses;
  for (int i = 0; i < 3; ++i) {
    uses.emplace_back([&] {
      std::array<std::byte, 16> bytes{};
      while (done < kTurns) {
        const auto region = regions_.Find("client", "x");
        if (region.ok()) {
          EXPECT_TRUE((*region)->Read(0, absl::MakeSpan(bytes)).ok());
        }
      }
    });
  }
  forgets.join();
  for (std::thread& one : uses) {
    one.join();
  }
  EXPECT_EQ(done, kTurns);
  EXPECT_EQ(regions_.counts().regions, 0);
}

}  // namespace
}  // namespace ferry
