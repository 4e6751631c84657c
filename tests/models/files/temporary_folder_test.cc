// Tests that a folder is there for as long as its owner, however that ends.
#include "models/files/temporary_folder.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"

// Takes the place of the system's; of a file system that has no locks where
// that is set.
static bool has_locks = true;
extern "C" int flock(int file, int operation) noexcept {
  if (!has_locks) {
    errno = ENOLCK;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

// The same for how the file system is mounted.
static unsigned long mount_flags = 0;
extern "C" int statvfs(const char*, struct statvfs* about) noexcept {
  *about = {};
  about->f_flag = mount_flags;
  return 0;
}

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr auto kCode = TemporaryFolder::Use::kUnpackedCode;
constexpr auto kFiles = TemporaryFolder::Use::kCheckedFiles;

class TemporaryFolderTest : public testing::Test {
 protected:
  void SetUp() override { setenv("TMPDIR", temporary_.path().c_str(), 1); }
  void TearDown() override { unsetenv("TMPDIR"); }

  // Makes a folder with a file in a process that ends by that signal.
  static void MakeInAnotherProcess(int signal,
                                   TemporaryFolder::Use use = kCode) {
    const pid_t child = fork();
    if (child == 0) {
      const auto folder = TemporaryFolder::Create(use);
      std::ofstream((*folder)->path() + "/model.so") << "code";
      raise(signal);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
  }

  int Count() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(temporary_.path())) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }

  const TempFolder temporary_;
};

TEST_F(TemporaryFolderTest, GoesWithItsObject) {
  {
    const auto folder = TemporaryFolder::Create(kCode);
    ASSERT_TRUE(folder.ok()) << folder.status();
    std::ofstream((*folder)->path() + "/model.so") << "code";
    EXPECT_EQ(Count(), 1);
  }
  EXPECT_EQ(Count(), 0);
}

TEST_F(TemporaryFolderTest, NextOneSweepsThoseOfProcessesThatWereKilled) {
  MakeInAnotherProcess(SIGKILL);
  EXPECT_EQ(Count(), 1);
  const auto first = TemporaryFolder::Create(kCode);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Count(), 1) << "swept, and its own made";
  EXPECT_TRUE(fs::is_empty((*first)->path()));
  const auto second = TemporaryFolder::Create(kCode);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Count(), 2) << "the first is in use";
}

TEST_F(TemporaryFolderTest, SweepRemovesThoseOfKilledProcessesForAnyUse) {
  MakeInAnotherProcess(SIGKILL, kCode);
  MakeInAnotherProcess(SIGKILL, kFiles);
  fs::create_directory(temporary_.path("ferry-checked-old"));
  const auto used = TemporaryFolder::Create(kFiles);
  ASSERT_TRUE(used.ok()) << used.status();
  MakeInAnotherProcess(SIGABRT, kFiles);
  EXPECT_EQ(Count(), 2);
  TemporaryFolder::Sweep();
  EXPECT_EQ(Count(), 1);
  EXPECT_TRUE(fs::exists((*used)->path())) << "it is in use";
}

TEST_F(TemporaryFolderTest, FoldersOfOthersStay) {
  fs::create_directory(temporary_.path("another"));
  fs::create_directory_symlink(temporary_.path("another"),
                               temporary_.path("ferry-unpacked-link"));
  std::ofstream(temporary_.path("ferry-unpacked-file")) << "text";
  EXPECT_TRUE(TemporaryFolder::Create(kCode).ok());
  EXPECT_TRUE(fs::exists(temporary_.path("another")));
  EXPECT_TRUE(fs::exists(temporary_.path("ferry-unpacked-link")));
  EXPECT_TRUE(fs::exists(temporary_.path("ferry-unpacked-file")));
}

TEST_F(TemporaryFolderTest, PlaceThatTakesNoFolderIsNamed) {
  setenv("TMPDIR", temporary_.path("none").c_str(), 1);
  EXPECT_EQ(TemporaryFolder::Create(kCode).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(TemporaryFolderTest, PlaceThatRunsNoCodeIsNamedWithTheRemedy) {
  mount_flags = ST_NOEXEC;
  const auto folder = TemporaryFolder::Create(kCode);
  EXPECT_TRUE(TemporaryFolder::Create(kFiles).ok());
  mount_flags = 0;
  EXPECT_THAT(std::string(folder.status().message()),
              testing::AllOf(testing::HasSubstr("is mounted noexec"),
                             testing::HasSubstr("set TMPDIR to a folder")));
  EXPECT_EQ(Count(), 0);
}

TEST_F(TemporaryFolderTest, WithoutLocksNothingIsSweptAndTheRemedyIsTold) {
  MakeInAnotherProcess(SIGKILL);
  has_locks = false;
  const auto folder = TemporaryFolder::Create(kCode);
  has_locks = true;
  EXPECT_THAT(std::string(folder.status().message()),
              testing::AllOf(testing::HasSubstr("No locks available"),
                             testing::HasSubstr("set TMPDIR to a folder")));
  EXPECT_EQ(Count(), 1) << "the other's, which may be in use";
}

}  // namespace
}  // namespace ferry
