// Tests nice values of threads, each in a thread of its own.
#include "base/thread_priority.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace ferry {
namespace {

int NiceOfThisThread() { return getpriority(PRIO_PROCESS, 0); }

// The nice values of a thread that asks for it, and of one it starts then.
struct Raised {
  int own = 0;
  int of_child = 0;
};

Raised Raise() {
  Raised raised;
  std::thread([&raised] {
    RaiseThreadPriority();
    raised.own = NiceOfThisThread();
    std::thread([&raised] { raised.of_child = NiceOfThisThread(); }).join();
  }).join();
  return raised;
}

TEST(ThreadPriorityTest, IsRaisedOnceAllowedAndThatOfThreadsStartedThen) {
  const int normal = NiceOfThisThread();
  EXPECT_EQ(Raise().own, normal) << "not allowed yet";
  if (!AllowRaisedPriority()) {
    EXPECT_EQ(NiceOfThisThread(), normal);
    EXPECT_EQ(Raise().own, normal);
    GTEST_SKIP() << "the system does not let this process raise its priority";
  }
  EXPECT_EQ(NiceOfThisThread(), normal);
  const int raised = std::max(normal - kRaisedBy, -20);
  EXPECT_EQ(Raise().own, raised);
  EXPECT_EQ(Raise().of_child, raised);
  EXPECT_EQ(NiceOfThisThread(), normal);
}

TEST(ThreadPriorityTest, BatcherThreadAndThoseThatItStartsPreemptNoOther) {
  int own = 0;
  int of_child = 0;
  std::thread([&] {
    UseBatcherPriority();
    own = sched_getscheduler(0);
    std::thread([&] { of_child = sched_getscheduler(0); }).join();
  }).join();
  EXPECT_EQ(own, SCHED_BATCH);
  EXPECT_EQ(of_child, SCHED_BATCH);
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(ThreadPriorityTest, PolicyThatSomethingElseSetStays) {
  int policy = 0;
  std::thread([&] {
    const sched_param none = {};
    sched_setscheduler(0, SCHED_IDLE, &none);
    UseBatcherPriority();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(policy, SCHED_IDLE);
}

}  // namespace
}  // namespace ferry
