// Tests HostOutputPool: alignment, reuse, and buffers that outlive it.
#include "tensor/host_output_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace ferry {
namespace {

TEST(HostOutputPool, LayoutGivesAlignedRoomForTheRows) {
  HostOutputPool pool(2, 1);
  const OutputRef buffer = pool.Take();
  HostOutputPool::Layout(*buffer.get(), 0, 3, DataType::kFp32, {5});
  HostOutputPool::Layout(*buffer.get(), 1, 3, DataType::kUint8, {});
  const OutputTensor& first = buffer->tensors()[0];
  EXPECT_EQ(first.row_bytes, 20u);
  EXPECT_EQ(first.row_dims.size(), 1u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data) % 64, 0u);
  std::memset(first.data, 1, 60);
  const OutputTensor& second = buffer->tensors()[1];
  EXPECT_EQ(second.row_bytes, 1u);
  EXPECT_TRUE(second.row_dims.empty());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.data) % 64, 0u);
  std::memset(second.data, 2, 3);
}

TEST(HostOutputPool, ReturnedBufferIsReusedWithItsMemory) {
  HostOutputPool pool(1, 1);
  OutputRef buffer = pool.Take();
  HostOutputPool::Layout(*buffer.get(), 0, 100, DataType::kFp32, {1});
  const OutputBuffer* const first = buffer.get();
  const std::byte* const data = buffer->tensors()[0].data;
  buffer = OutputRef();
  buffer = pool.Take();
  EXPECT_EQ(buffer.get(), first);
  HostOutputPool::Layout(*buffer.get(), 0, 50, DataType::kFp32, {2});
  EXPECT_EQ(buffer->tensors()[0].data, data) << "memory was not kept";
  EXPECT_EQ(buffer->tensors()[0].row_bytes, 8u) << "old layout was kept";
}

TEST(HostOutputPool, BufferIsNotReusedWhileAReplyHoldsIt) {
  HostOutputPool pool(1, 4);
  OutputRef batch = pool.Take();
  const OutputRef reply = batch;
  batch = OutputRef();
  EXPECT_NE(pool.Take().get(), reply.get());
}

TEST(HostOutputPool, MoreThanMaxIdleAreFreed) {
  HostOutputPool pool(1, 1);
  OutputRef first = pool.Take();
  OutputRef second = pool.Take();
  const OutputBuffer* const kept = first.get();
  first = OutputRef();
  second = OutputRef();  // freed; a leak or a double free is the sanitizer's
  first = pool.Take();
  EXPECT_EQ(first.get(), kept);
}

// Counts what is allocated.
class CountedMemory final : public HostMemory {
 public:
  std::byte* Allocate(size_t bytes) override {
    ++count;
    return HostMemory::Plain()->Allocate(bytes);
  }
  void Free(std::byte* bytes, size_t size) override {
    --count;
    HostMemory::Plain()->Free(bytes, size);
  }
  size_t max_idle_bytes() const override { return 1000; }

  int count = 0;
};

TEST(HostOutputPool, MoreIdleBytesThanTheMemoryIsWorthAreFreed) {
  const auto memory = std::make_shared<CountedMemory>();
  HostOutputPool pool(1, 8, 8, memory);
  const auto take = [&](int32_t bytes) {
    OutputRef buffer = pool.Take();
    HostOutputPool::Layout(*buffer.get(), 0, bytes, DataType::kUint8, {});
    return buffer;
  };
  OutputRef small = take(600);
  OutputRef other = take(600);
  OutputRef large = take(5000);
  EXPECT_EQ(memory->count, 3);
  large = OutputRef();
  EXPECT_EQ(memory->count, 2) << "a peak is not kept";
  small = OutputRef();
  other = OutputRef();
  EXPECT_EQ(memory->count, 1) << "600 of 1000 bytes";
  small = take(600);
  EXPECT_EQ(memory->count, 1) << "the kept one is used again";
  other = take(300);
  other = OutputRef();
  EXPECT_EQ(memory->count, 2) << "what is lent is not idle";
  small = OutputRef();
  EXPECT_EQ(memory->count, 2) << "960 bytes of 1000";
}

TEST(HostOutputPool, MoreLentThanMaxSharedAreCrowded) {
  HostOutputPool pool(1, 4, /*max_shared=*/2);
  const OutputRef first = pool.Take();
  OutputRef second = pool.Take();
  EXPECT_FALSE(first->crowded());
  OutputRef third = pool.Take();
  EXPECT_TRUE(first->crowded());
  EXPECT_TRUE(third->crowded());
  third = OutputRef();
  EXPECT_FALSE(first->crowded());
  second = OutputRef();
  EXPECT_FALSE(first->crowded());
}

TEST(HostOutputPool, BufferOutlivesItsPool) {
  auto pool = std::make_optional<HostOutputPool>(1, 2);
  OutputRef idle = pool->Take();
  OutputRef reply = pool->Take();
  HostOutputPool::Layout(*reply.get(), 0, 8, DataType::kUint8, {});
  std::memset(reply->tensors()[0].data, 7, 8);
  idle = OutputRef();
  pool.reset();
  EXPECT_EQ(reply->tensors()[0].data[7], std::byte{7});
  reply = OutputRef();
}

TEST(HostOutputPool, BuffersOfNoIdlePlacesWork) {
  HostOutputPool pool(1, 0);
  pool.Take();
  pool.Take();
}

TEST(HostOutputPool, BuffersComeBackFromOtherThreads) {
  auto pool = std::make_optional<HostOutputPool>(1, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&pool, held = pool->Take()]() mutable {
      for (int round = 0; round < 100; ++round) {
        held = pool->Take();
        HostOutputPool::Layout(*held.get(), 0, 4, DataType::kUint8, {});
        std::memset(held->tensors()[0].data, round, 4);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  pool.reset();  // the threads' functions are gone, and their last buffers
}

TEST(OutputRef, CopiesMovesAndSelfAssignmentKeepTheCount) {
  HostOutputPool pool(1, 1);
  OutputRef a = pool.Take();
  OutputRef b = a;
  OutputRef c = std::move(a);
  EXPECT_FALSE(a);  // NOLINT: a moved-from reference is empty
  EXPECT_EQ(b.get(), c.get());
  OutputRef& same = b;
  b = same;
  const OutputBuffer* const buffer = c.get();
  b = OutputRef();
  EXPECT_NE(pool.Take().get(), buffer) << "recycled while it was referenced";
  c = OutputRef();
}

}  // namespace
}  // namespace ferry
