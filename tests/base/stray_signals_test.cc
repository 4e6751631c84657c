// Tests IgnoreStraySignals() on the test's own process.
#include "base/stray_signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace ferry {
namespace {

volatile std::sig_atomic_t handled = 0;

TEST(StraySignalsTest, SignalsThatMeanNothingDoNotEndTheProcess) {
  IgnoreStraySignals();
  for (const int number : {SIGPIPE, SIGUSR2, SIGALRM, SIGVTALRM, SIGIO, SIGXFSZ,
                           SIGPWR, SIGRTMIN, SIGRTMAX}) {
    EXPECT_EQ(std::raise(number), 0) << number;
  }
}

TEST(StraySignalsTest, HandlerOfAProfilerStays) {
  std::signal(SIGPROF, [](int) { handled = 1; });
  IgnoreStraySignals();
  std::raise(SIGPROF);
  EXPECT_EQ(handled, 1);
  std::signal(SIGPROF, SIG_DFL);
}

TEST(StraySignalsTest, ChildrenAreReapedByTheProgramItself) {
  std::signal(SIGCHLD, SIG_IGN);  // as a parent may leave it
  IgnoreStraySignals();
  const pid_t child = fork();
  if (child == 0) {
    _exit(7);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 7);
}

TEST(StraySignalsTest, SignalsThatStopAProgramStopIt) {
  IgnoreStraySignals();
  EXPECT_EXIT(std::raise(SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace ferry
