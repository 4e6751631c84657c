// Nice values of threads. Each test is its own thread, as a priority stays.
#include "batcher/thread_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>
#include <thread>

namespace ferry {
namespace {

int NiceOfThisThread() { return getpriority(PRIO_PROCESS, 0); }

void InThread(const std::function<void()>& what) { std::thread(what).join(); }

int NiceOfAnother() {
  int nice = 0;
  InThread([&] { nice = NiceOfThisThread(); });
  return nice;
}

TEST(ThreadPriorityTest, ChangesNothingUntilItIsAllowed) {
  InThread([] {
    const int before = NiceOfThisThread();
    RaiseThreadPriority();
    EXPECT_EQ(NiceOfThisThread(), before);
    const RaisedPriority raised;
    EXPECT_EQ(NiceOfThisThread(), before);
  });
}

TEST(ThreadPriorityTest, RaisesThreadsAndTheirOwnWhereAllowed) {
  const int normal = NiceOfThisThread();
  if (!AllowRaisedPriority()) {
    GTEST_SKIP() << "the system does not let this process raise its priority";
  }
  EXPECT_EQ(NiceOfThisThread(), normal);
  const int raised = normal - kRaisedBy;
  InThread([&] {
    {
      const RaisedPriority scope;
      EXPECT_EQ(NiceOfThisThread(), raised);
      EXPECT_EQ(NiceOfAnother(), raised);
    }
    EXPECT_EQ(NiceOfThisThread(), normal);
    EXPECT_EQ(NiceOfAnother(), normal);
  });
  InThread([&] {
    RaiseThreadPriority();
    EXPECT_EQ(NiceOfThisThread(), raised);
  });
  EXPECT_EQ(NiceOfThisThread(), normal);
}

}  // namespace
}  // namespace ferry
