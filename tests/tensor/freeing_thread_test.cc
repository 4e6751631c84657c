// Tests that FreeingThread frees on its own thread, within its bound, and all.
#include "tensor/freeing_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <thread>

namespace ferry {
namespace {

// Memory that is freed only when the test lets it, and has an end.
class SlowMemory final : public HostMemory {
 public:
  std::byte* Allocate(size_t bytes) override {
    if (held + 1 > most_held) {
      ++refused;
      throw std::bad_alloc();
    }
    ++held;
    return HostMemory::Plain()->Allocate(bytes);
  }
  void Free(std::byte* bytes, size_t size) override {
    begun.release();
    may_free.acquire();
    if (std::this_thread::get_id() == caller) {
      is_on_caller = true;
    }
    HostMemory::Plain()->Free(bytes, size);
    --held;
  }
  size_t max_idle_bytes() const override { return 77; }

  const std::thread::id caller = std::this_thread::get_id();
  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> may_free{0};
  std::atomic<int> held{0};  // blocks
  std::atomic<int> most_held{100};
  std::atomic<int> refused{0};
  std::atomic<bool> is_on_caller{false};
};

class FreeingThreadTest : public ::testing::Test {
 protected:
  static constexpr size_t kBlock = 4096;

  const std::shared_ptr<SlowMemory> slow_ = std::make_shared<SlowMemory>();
  // At most two blocks wait.
  std::optional<FreeingThread> memory_{std::in_place, slow_, 2 * kBlock};
};

// Were it freed on this thread, this would wait for itself.
TEST_F(FreeingThreadTest, WhoGivesMemoryBackDoesNotWaitUntilItIsFreed) {
  memory_->Free(memory_->Allocate(kBlock), kBlock);
  slow_->begun.acquire();
  memory_->Free(memory_->Allocate(kBlock), kBlock);
  EXPECT_EQ(slow_->held, 2);
  slow_->may_free.release(2);
  memory_.reset();
  EXPECT_EQ(slow_->held, 0);
  EXPECT_FALSE(slow_->is_on_caller);
}

TEST_F(FreeingThreadTest, AllIsFreedWhenItIsGone) {
  for (int i = 0; i < 3; ++i) {
    memory_->Free(memory_->Allocate(kBlock), kBlock);
    slow_->may_free.release();
  }
  memory_.reset();
  EXPECT_EQ(slow_->held, 0);
}

TEST_F(FreeingThreadTest, NothingIsAllocatedWhileTooMuchWaits) {
  std::byte* blocks[3];
  for (std::byte*& block : blocks) {
    block = memory_->Allocate(kBlock);
  }
  for (std::byte* const block : blocks) {
    memory_->Free(block, kBlock);
  }
  std::atomic<bool> asks = false;
  auto held = std::async(std::launch::async, [&] {
    asks = true;
    std::byte* const block = memory_->Allocate(kBlock);
    const int all = slow_->held;
    memory_->Free(block, kBlock);
    return all;
  });
  while (!asks) {
    std::this_thread::yield();
  }
  slow_->may_free.release();  // two wait now
  EXPECT_EQ(held.get(), 3);   // with its own
  slow_->may_free.release(3);
}

TEST_F(FreeingThreadTest, WithoutMemoryItAsksAgainWhenWhatWaitsIsFreed) {
  slow_->most_held = 1;
  memory_->Free(memory_->Allocate(kBlock), kBlock);
  slow_->begun.acquire();
  auto allocated =
      std::async(std::launch::async, [&] { return memory_->Allocate(kBlock); });
  while (slow_->refused == 0) {
    std::this_thread::yield();
  }
  slow_->may_free.release();
  std::byte* const block = allocated.get();
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(slow_->refused, 1);
  slow_->may_free.release();
  memory_->Free(block, kBlock);
}

TEST_F(FreeingThreadTest, WithoutMemoryAndNothingThatWaitsItThrows) {
  slow_->most_held = 0;
  EXPECT_THROW(memory_->Allocate(kBlock), std::bad_alloc);
}

TEST_F(FreeingThreadTest, PoolsKeepAsMuchIdleAsOfTheMemoryItself) {
  EXPECT_EQ(memory_->max_idle_bytes(), 77u);
}

}  // namespace
}  // namespace ferry
