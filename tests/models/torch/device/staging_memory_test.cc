// Tests how StagingMemory grows rooms of the device, and what it counts.
#include "models/torch/device/staging_memory.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "tests/models/torch/device/host_runtime.h"

namespace ferry {
namespace {

// LibTorch's memory of the processor, which stands for the device's, with no
// block larger than `largest`. Takes its place while it lives.
class ShortAllocator final : public c10::Allocator {
 public:
  explicit ShortAllocator(size_t bytes) : largest(bytes) {
    c10::SetAllocator(c10::kCPU, this, kPriority);
  }
  ~ShortAllocator() override {
    c10::SetAllocator(c10::kCPU, before_, kPriority);
  }

  c10::DataPtr allocate(size_t bytes) override {
    TORCH_CHECK_WITH(OutOfMemoryError, bytes <= largest, "no memory");
    return before_->allocate(bytes);
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    before_->copy_data(to, from, bytes);
  }

  size_t largest;

 private:
  static constexpr uint8_t kPriority = 1;
  c10::Allocator* const before_ = c10::GetAllocator(c10::kCPU);
};

class StagingMemoryTest : public ::testing::Test {
 protected:
  HostRuntime runtime_;
  StagingMemory memory_{runtime_};
  at::Tensor room_;
};

TEST_F(StagingMemoryTest, RoomIsOfTheSizeThatIsNeededFirst) {
  memory_.Reserve(room_, 100, at::kFloat);
  EXPECT_EQ(room_.numel(), 100);
  EXPECT_EQ(room_.scalar_type(), at::kFloat);
  const void* const data = room_.const_data_ptr();
  memory_.Reserve(room_, 50, at::kFloat);
  EXPECT_EQ(room_.numel(), 100);
  EXPECT_EQ(room_.const_data_ptr(), data);
}

TEST_F(StagingMemoryTest, RowsOfNoElementsHaveARoom) {
  memory_.Reserve(room_, 0, at::kFloat);
  EXPECT_TRUE(room_.defined());
}

TEST_F(StagingMemoryTest, SizesThatComeOneAfterTheOtherAllocateSeldom) {
  memory_.EndWarmUp();
  for (int64_t size = 1000; size <= 1'000'000; size += 1000) {
    memory_.Reserve(room_, size, at::kByte);
    ASSERT_GE(room_.numel(), size);
    ASSERT_LE(room_.numel(), size * 3 / 2);
  }
  EXPECT_LE(memory_.grown(), 19u);  // 1.5 to the power of 17 is a thousand
}

TEST_F(StagingMemoryTest, WithoutMemoryForAStepItTakesWhatIsNeeded) {
  ShortAllocator allocator(1200);
  memory_.Reserve(room_, 1000, at::kByte);
  runtime_.is_out_of_memory = true;  // as the device's allocator tells
  memory_.Reserve(room_, 1100, at::kByte);
  EXPECT_EQ(room_.numel(), 1100);
  EXPECT_FALSE(runtime_.is_out_of_memory) << "it is no failure of the batch";
  EXPECT_THROW(memory_.Reserve(room_, 1300, at::kByte), c10::OutOfMemoryError);
  room_.reset();
}

TEST_F(StagingMemoryTest, WhatIsAllocatedInWarmUpIsNotCounted) {
  memory_.Free(memory_.Allocate(64), 64);
  memory_.Reserve(room_, 10, at::kFloat);
  EXPECT_EQ(memory_.grown(), 0u);
  memory_.EndWarmUp();
  memory_.Reserve(room_, 10, at::kFloat);
  EXPECT_EQ(memory_.grown(), 0u);
  memory_.Free(memory_.Allocate(64), 64);
  memory_.Reserve(room_, 11, at::kFloat);
  EXPECT_EQ(memory_.grown(), 2u);
}

}  // namespace
}  // namespace ferry
