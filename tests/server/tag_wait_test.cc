// TagWait: tags come out of it as they come out of the queue, whether it polls
// or sleeps.
#include "server/tag_wait.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <deque>
#include <utility>

namespace ferry {
namespace {

using Look = TagWait::Look;

class TagWaitTest : public ::testing::Test {
 protected:
  ~TagWaitTest() override {
    ShutDown();
    while (queue_.Next(&tag_, &ok_)) {
    }
  }

  void ShutDown() {
    if (!std::exchange(is_shut_down_, true)) {
      queue_.Shutdown();
    }
  }

  // Rings at once, or `ms` from now.
  void Ring(int* tag, int ms = 0) {
    alarms_.emplace_back();
    alarms_.back().Set(&queue_,
                       gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_millis(ms, GPR_TIMESPAN)),
                       tag);
  }

  // Waits for a tag, after which it has learned that waits are short.
  void LearnToPoll() {
    wait_.WorkEnded(std::chrono::hours(1));
    Ring(&tags_[0], /*ms=*/1);
    EXPECT_TRUE(wait_.Next(tag_, ok_));
    wait_.RequestCame();
    wait_.WorkEnded(std::chrono::hours(1));
  }

  grpc::CompletionQueue queue_;
  TagWait wait_{queue_};
  int tags_[2] = {};
  std::deque<grpc::Alarm> alarms_;
  void* tag_ = nullptr;
  bool ok_ = false;

 private:
  bool is_shut_down_ = false;
};

TEST_F(TagWaitTest, TryNextTakesWhatIsThereAndDoesNotWait) {
  EXPECT_EQ(wait_.TryNext(tag_, ok_), Look::TIMEOUT);
  Ring(&tags_[0]);
  Look look = Look::TIMEOUT;
  while (look == Look::TIMEOUT) {
    look = wait_.TryNext(tag_, ok_);
  }
  EXPECT_EQ(look, Look::GOT_EVENT);
  EXPECT_EQ(tag_, &tags_[0]);
}

TEST_F(TagWaitTest, SleepsUntilATagComes) {
  Ring(&tags_[0], /*ms=*/1);
  EXPECT_TRUE(wait_.Next(tag_, ok_));
  EXPECT_EQ(tag_, &tags_[0]);
  EXPECT_TRUE(ok_);
}

// How often this thread has slept.
int64_t Sleeps() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST_F(TagWaitTest, PollsUntilATagComes) {
  // A poll from which the processor was taken away goes on asleep.
  constexpr int kTries = 1000;
  int slept = 0;
  for (bool has_polled = false; !has_polled && slept < kTries; ++slept) {
    LearnToPoll();
    const int64_t before = Sleeps();
    Ring(&tags_[1], /*ms=*/1);
    EXPECT_TRUE(wait_.Next(tag_, ok_));
    EXPECT_EQ(tag_, &tags_[1]);
    EXPECT_TRUE(ok_);
    has_polled = Sleeps() == before;
  }
  EXPECT_LT(slept, kTries);
}

TEST_F(TagWaitTest, SaysWhenTheQueueIsShutDown) {
  ShutDown();
  EXPECT_FALSE(wait_.Next(tag_, ok_));
}

TEST_F(TagWaitTest, SaysItWhileItPolls) {
  LearnToPoll();
  ShutDown();
  EXPECT_FALSE(wait_.Next(tag_, ok_));
}

}  // namespace
}  // namespace ferry
