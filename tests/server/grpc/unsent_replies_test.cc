// Tests the bound on replies that no client reads.
#include "server/grpc/unsent_replies.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/fake_clock.h"

namespace ferry {
namespace {

constexpr size_t kMessage = 100;  // bytes
constexpr size_t kReply = kMessage + UnsentReplies::kBytesOfCall;

class TestReply final : public UnsentReplies::Reply {
 public:
  bool is_dropped() const { return is_dropped_; }

 private:
  void Drop() override { is_dropped_ = true; }

  bool is_dropped_ = false;
};

class UnsentRepliesTest : public ::testing::Test {
 protected:
  void WaitLong() { clock_.Advance(UnsentReplies::kMinUnsent); }

  FakeClock clock_;
  UnsentReplies unsent_{3 * kReply, clock_};
  std::array<TestReply, 4> replies_;
};

TEST_F(UnsentRepliesTest, WithinTheBoundNothingIsDropped) {
  for (size_t i = 0; i < 3; ++i) {
    unsent_.Add(replies_[i], kMessage);
    WaitLong();
  }
  EXPECT_EQ(unsent_.bytes(), 3 * kReply);
  EXPECT_EQ(unsent_.dropped_count(), 0u);
  unsent_.Remove(replies_[1]);
  unsent_.Remove(replies_[0]);
  unsent_.Remove(replies_[2]);
  EXPECT_EQ(unsent_.bytes(), 0u);
}

TEST_F(UnsentRepliesTest, PastTheBoundTheOldestAreDropped) {
  for (TestReply& reply : replies_) {
    unsent_.Add(reply, kMessage);
    WaitLong();
  }
  EXPECT_TRUE(replies_[0].is_dropped());
  EXPECT_FALSE(replies_[1].is_dropped());
  TestReply large;
  unsent_.Add(large, kMessage + kReply);
  EXPECT_TRUE(replies_[1].is_dropped());
  EXPECT_TRUE(replies_[2].is_dropped());
  EXPECT_FALSE(replies_[3].is_dropped());
  EXPECT_EQ(unsent_.dropped_count(), 3u);
}

TEST_F(UnsentRepliesTest, OneAddDropsFewAndEnforceTheRest) {
  std::array<TestReply, 100> old;
  for (TestReply& reply : old) {
    unsent_.Add(reply, kMessage);
  }
  WaitLong();
  unsent_.Add(replies_[0], kMessage);
  EXPECT_EQ(unsent_.dropped_count(), UnsentReplies::kMaxDropsAtOnce);
  unsent_.AddWaiting(1);
  EXPECT_EQ(unsent_.dropped_count(), 2 * UnsentReplies::kMaxDropsAtOnce);
  EXPECT_TRUE(old[0].is_dropped()) << "the oldest first";
  EXPECT_FALSE(old[99].is_dropped());
  unsent_.Enforce();
  EXPECT_EQ(unsent_.dropped_count(), 99u);
}

TEST_F(UnsentRepliesTest, WhoReadsInTimeLosesNothingInABurst) {
  for (TestReply& reply : replies_) {
    unsent_.Add(reply, kMessage);  // all of one batch
  }
  EXPECT_EQ(unsent_.dropped_count(), 0u);
  unsent_.Remove(replies_[0]);
  unsent_.Remove(replies_[1]);
  WaitLong();
  TestReply next;
  unsent_.Add(next, kMessage);
  EXPECT_EQ(unsent_.dropped_count(), 0u);
}

TEST_F(UnsentRepliesTest, BurstThatNobodyReadsIsDroppedLater) {
  for (TestReply& reply : replies_) {
    unsent_.Add(reply, kMessage);
  }
  unsent_.Enforce();
  EXPECT_EQ(unsent_.dropped_count(), 0u);
  WaitLong();
  unsent_.Enforce();
  EXPECT_EQ(unsent_.dropped_count(), 1u);
  EXPECT_TRUE(replies_[0].is_dropped());
}

TEST_F(UnsentRepliesTest, DroppedReplyCountsUntilItIsRemoved) {
  for (TestReply& reply : replies_) {
    unsent_.Add(reply, kMessage);
    WaitLong();
  }
  ASSERT_TRUE(replies_[0].is_dropped());
  EXPECT_EQ(unsent_.bytes(), 4 * kReply) << "gRPC still holds it";
  unsent_.Remove(replies_[0]);
  EXPECT_EQ(unsent_.bytes(), 3 * kReply);
  unsent_.Remove(replies_[0]);
  EXPECT_EQ(unsent_.bytes(), 3 * kReply);
  unsent_.Remove(replies_[1]);
  unsent_.Add(replies_[0], kMessage);  // its call is used again
  EXPECT_EQ(unsent_.bytes(), 3 * kReply);
}

TEST_F(UnsentRepliesTest, WhatWaitsBehindAReplyCountsAndItsReplyGoes) {
  unsent_.Add(replies_[0], kMessage);
  unsent_.AddWaiting(kMessage);
  unsent_.AddWaiting(kMessage + kReply);
  EXPECT_FALSE(replies_[0].is_dropped()) << "it is read, as far as one knows";
  EXPECT_EQ(unsent_.bytes(), 4 * kReply);
  WaitLong();
  unsent_.Enforce();
  EXPECT_TRUE(replies_[0].is_dropped());
  unsent_.Enforce();  // there is none left to drop
  unsent_.RemoveWaiting(kMessage);
  unsent_.RemoveWaiting(kMessage + kReply);
  unsent_.Remove(replies_[0]);
  EXPECT_EQ(unsent_.bytes(), 0u);
}

TEST_F(UnsentRepliesTest, OneReplyPastTheBoundIsSent) {
  WaitLong();
  unsent_.Add(replies_[0], 10 * kReply);
  EXPECT_FALSE(replies_[0].is_dropped());
}

TEST_F(UnsentRepliesTest, ReplyThatMayBeRefusedWaitsForTheOldestToBeDropped) {
  constexpr size_t kLarge = UnsentReplies::kBytesOfCall + 1;
  constexpr size_t kLargeReply = kLarge + UnsentReplies::kBytesOfCall;
  UnsentReplies unsent{3 * kLargeReply, clock_};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(unsent.TryAdd(replies_[i], kLarge));
  }
  EXPECT_FALSE(unsent.TryAdd(replies_[3], kLarge)) << "they may yet be read";
  EXPECT_EQ(unsent.bytes(), 3 * kLargeReply);
  TestReply small;
  EXPECT_TRUE(unsent.TryAdd(small, UnsentReplies::kBytesOfCall))
      << "a health check is answered always";
  unsent.Remove(small);
  WaitLong();
  EXPECT_FALSE(unsent.TryAdd(replies_[3], kLarge)) << "gRPC still holds it";
  EXPECT_TRUE(replies_[0].is_dropped());
  unsent.Remove(replies_[0]);
  EXPECT_TRUE(unsent.TryAdd(replies_[3], kLarge));
  EXPECT_EQ(unsent.bytes(), 3 * kLargeReply);
  EXPECT_EQ(unsent.dropped_count(), 1u) << "one made room";
}

}  // namespace
}  // namespace ferry
