// Tests that real processes get, write and end with what ChildProcess says.
#include "deploy/launch/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace ferry::launch {
namespace {

using ::testing::HasSubstr;

// Returns all that it writes, and waits for its end.
std::string OutputOf(ChildProcess& process, ProcessEnd* end) {
  std::string output;
  for (;;) {
    pollfd file = {process.output_fd(), POLLIN, 0};
    poll(&file, 1, -1);
    char bytes[256];
    const ssize_t size = read(process.output_fd(), bytes, sizeof(bytes));
    if (size <= 0) {
      break;
    }
    output.append(bytes, static_cast<size_t>(size));
  }
  std::optional<ProcessEnd> found;
  while (!found.has_value()) {
    found = process.Reap();
  }
  *end = *found;
  return output;
}

TEST(ChildProcessTest, BothStreamsAndTheCodeComeBack) {
  auto process = ChildProcess::Start(
      {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, {});
  ASSERT_TRUE(process.ok()) << process.status();
  ProcessEnd end;
  EXPECT_EQ(OutputOf(*process, &end), "out\nerr\n");
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(end.signal, 0);
}

TEST(ChildProcessTest, EnvironmentIsAddedAndReplaced) {
  setenv("FERRY_TEST_KEPT", "kept", 1);
  setenv("FERRY_TEST_REPLACED", "old", 1);
  auto process = ChildProcess::Start(
      {"/bin/sh", "-c", "echo $FERRY_TEST_KEPT $FERRY_TEST_REPLACED $NEW"},
      {"FERRY_TEST_REPLACED=new", "NEW=1"});
  ASSERT_TRUE(process.ok()) << process.status();
  ProcessEnd end;
  EXPECT_EQ(OutputOf(*process, &end), "kept new 1\n");
}

TEST(ChildProcessTest, HasAGroupOfItsOwnAndNoBlockedSignal) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  auto process = ChildProcess::Start({"/usr/bin/tail", "-f", "/dev/null"}, {});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(getpgid(process->pid()), process->pid());
  EXPECT_FALSE(process->Reap().has_value());
  process->Signal(SIGTERM);
  ProcessEnd end;
  OutputOf(*process, &end);
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST(ChildProcessTest, MissingProgramIsSaid) {
  const auto process = ChildProcess::Start({"/no/such/program"}, {});
  ASSERT_FALSE(process.ok());
  EXPECT_THAT(std::string(process.status().message()),
              HasSubstr("cannot start /no/such/program: No such file"));
}

}  // namespace
}  // namespace ferry::launch
