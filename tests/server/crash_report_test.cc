// Tests what a crash tells: where it was, and that the process dies of it.
#include "server/crash_report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

#include "base/signal_stack.h"
#include "server/log.h"

namespace ferry {
namespace {

// Threads outlive a fork badly: each death is that of a process of its own.
class CrashReportTest : public testing::Test {
 protected:
  CrashReportTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void Start() {
    StartLog({});
    ReportCrashes();
  }
};

__attribute__((noinline)) void WriteToNull() {
  volatile int* volatile none = nullptr;
  *none = 1;
}

__attribute__((noinline)) int RecurseWithoutEnd(int step) {
  volatile int part_of_stack[100];
  part_of_stack[0] = step;
  return step < 0 ? 0 : RecurseWithoutEnd(step + 1) + part_of_stack[0];
}

// Runs it as a thread named "crasher", which ends before this returns.
template <typename Function>
void OnThread(const Function& run) {
  std::thread([&] {
    pthread_setname_np(pthread_self(), "crasher");
    run();
  }).join();
}

TEST_F(CrashReportTest, NamesFunctionSignalAddressAndThread) {
  EXPECT_EXIT(
      {
        Start();
        OnThread(&WriteToNull);
      },
      testing::KilledBySignal(SIGSEGV),
      "SIGSEGV received.*WriteToNull(.|\n)*\n"
      "ferry-server crashed: SIGSEGV address=0x0 thread=crasher "
      "build=ferry-[^\n]+\n$");
}

TEST_F(CrashReportTest, AbortTellsWhatWasThrown) {
  EXPECT_EXIT(
      {
        Start();
        OnThread([] { throw std::runtime_error("boom\nat once"); });
      },
      testing::KilledBySignal(SIGABRT),
      "what\\(\\):  boom(.|\n)*SIGABRT received(.|\n)*"
      "crashed: SIGABRT thread=crasher build=.* thrown: boom\n$");
}

TEST_F(CrashReportTest, FullStackIsToldWhereHandlersHaveTheirOwn) {
  EXPECT_EXIT(
      {
        Start();
        OnThread([] {
          const SignalStack for_handlers;
          RecurseWithoutEnd(0);
        });
      },
      testing::KilledBySignal(SIGSEGV),
      "RecurseWithoutEnd(.|\n)*crashed: SIGSEGV");
}

TEST_F(CrashReportTest, DiesWhereTheLogHasNoRoom) {
  EXPECT_EXIT(
      {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
        while (write(ends[1], "x", 1) == 1) {
        }
        fcntl(ends[1], F_SETFL, 0);
        dup2(ends[1], STDERR_FILENO);
        Start();
        std::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(CrashReportTest, TerminationIsNoCrash) {
  EXPECT_EXIT(
      {
        Start();
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "^$");
}

}  // namespace
}  // namespace ferry
