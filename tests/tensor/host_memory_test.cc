// Tests how HostRoom grows: by steps, and by what is needed where memory ends.
#include "tensor/host_memory.h"

#include <gtest/gtest.h>

#include <new>

namespace ferry {
namespace {

// Counts what is allocated; no block is larger than `largest`.
class CountedMemory final : public HostMemory {
 public:
  std::byte* Allocate(size_t bytes) override {
    if (bytes > largest) {
      throw std::bad_alloc();
    }
    ++allocations;
    held += bytes;
    return HostMemory::Plain()->Allocate(bytes);
  }
  void Free(std::byte* bytes, size_t size) override {
    held -= size;
    HostMemory::Plain()->Free(bytes, size);
  }

  size_t largest = size_t{1} << 30;
  int allocations = 0;
  size_t held = 0;
};

TEST(HostRoom, FirstSizeIsTakenAsItIs) {
  CountedMemory memory;
  HostRoom room(memory);
  room.Reserve(1000);
  EXPECT_EQ(room.capacity(), 1024u);
  room.Reserve(1024);
  EXPECT_EQ(memory.allocations, 1);
}

TEST(HostRoom, SizesThatComeOneAfterTheOtherAllocateSeldom) {
  CountedMemory memory;
  HostRoom room(memory);
  for (size_t size = 1000; size <= 1'000'000; size += 1000) {
    room.Reserve(size);
    ASSERT_GE(room.capacity(), size);
    ASSERT_LE(room.capacity(), size * 8 / 5);
  }
  // 1.5 to the power of 17 is a thousand.
  EXPECT_LE(memory.allocations, 18);
}

TEST(HostRoom, WithoutMemoryForAStepItTakesWhatIsNeeded) {
  CountedMemory memory;
  HostRoom room(memory);
  room.Reserve(1024);
  memory.largest = 1280;
  room.Reserve(1100);
  EXPECT_EQ(room.capacity(), 1152u);
  memory.largest = 0;
  EXPECT_THROW(room.Reserve(2000), std::bad_alloc);
  EXPECT_EQ(room.capacity(), 0u);
}

TEST(HostRoom, GivesBackWhatItTook) {
  CountedMemory memory;
  {
    HostRoom room(memory);
    room.Reserve(1000);
    room.Reserve(1100);
    EXPECT_EQ(memory.held, room.capacity());
  }
  EXPECT_EQ(memory.held, 0u);
}

}  // namespace
}  // namespace ferry
