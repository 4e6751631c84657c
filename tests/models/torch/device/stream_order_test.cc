// Tests what StreamOrder finds in order, and what only may turn out well.
#include "tests/models/torch/device/stream_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kIn = static_cast<size_t>(DeviceStream::kCopyIn);
constexpr size_t kCompute = static_cast<size_t>(DeviceStream::kCompute);

class StreamOrderTest : public ::testing::Test {
 protected:
  std::array<std::byte, 8> memory_ = {};
  const Bytes all_ = BytesAt(memory_.data(), 8);
  const Bytes begin_ = BytesAt(memory_.data(), 4);
  const Bytes end_ = BytesAt(memory_.data() + 4, 4);
  std::vector<std::string> faults_;
  StreamOrder order_{faults_};
};

TEST_F(StreamOrderTest, StreamsWithoutAnOrderDisturbEachOther) {
  order_.Write(kIn, all_);
  order_.Read(kCompute, end_);
  EXPECT_THAT(
      faults_,
      ElementsAre(HasSubstr("the compute reads what the copy in writes")));
}

TEST_F(StreamOrderTest, WhatIsReadIsNotWrittenMeanwhile) {
  order_.Read(kCompute, begin_);
  order_.Write(kIn, all_);
  EXPECT_THAT(
      faults_,
      ElementsAre(HasSubstr("the copy in writes what the compute reads")));
}

TEST_F(StreamOrderTest, ReadersAndThoseOfOtherBytesDoNot) {
  order_.Read(kIn, all_);
  order_.Read(kCompute, begin_);
  order_.Write(StreamOrder::kHost, {});
  EXPECT_THAT(faults_, IsEmpty());
  order_.Write(kIn, end_);
  EXPECT_THAT(faults_, IsEmpty());
}

TEST_F(StreamOrderTest, AMarkOrdersWhatWasBeforeItAlone) {
  order_.Write(kIn, begin_);
  const StreamOrder::Known mark = order_.Mark(DeviceStream::kCopyIn);
  order_.Write(kIn, end_);
  order_.Block(DeviceStream::kCompute, mark);
  order_.Read(kCompute, begin_);
  EXPECT_THAT(faults_, IsEmpty());
  order_.Read(kCompute, end_);
  EXPECT_EQ(faults_.size(), 1);
}

TEST_F(StreamOrderTest, WhatTheHostHasAwaitedIsOverForWhatItPutsLater) {
  order_.Write(kIn, all_);
  order_.Await(order_.Mark(DeviceStream::kCopyIn));
  order_.Put(DeviceStream::kCompute);
  order_.Write(kCompute, all_);
  EXPECT_THAT(faults_, IsEmpty());
  order_.Write(StreamOrder::kHost, all_);
  EXPECT_EQ(faults_.size(), 1);
}

}  // namespace
}  // namespace ferry
