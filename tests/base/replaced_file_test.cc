// Tests that a file is replaced whole or not at all.
#include "base/replaced_file.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ferry {
namespace {

class ReplacedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::ptrdiff_t FileCount() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  // Makes the file of user 1, with these modes of it and of its folder, which
  // is of `folder_owner`, and replaces it as user 2. False where it may not.
  bool ReplaceAnothersFile(mode_t mode, uid_t folder_owner,
                           mode_t folder_mode) {
    EXPECT_TRUE(ReplaceFile(path_, "old").ok());
    if (chown(path_.c_str(), 1, 1) != 0) {
      return false;
    }
    EXPECT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(chown(folder_.c_str(), folder_owner, folder_owner), 0);
    EXPECT_EQ(chmod(folder_.c_str(), folder_mode), 0);
    EXPECT_EQ(seteuid(2), 0);
    const absl::Status status = ReplaceFile(path_, "new");
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(Read(path_), "new");
    EXPECT_EQ(FileCount(), 1);
    return true;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "replaced_file_test";
  const std::string path_ = folder_ / "a.json";
};

TEST_F(ReplacedFileTest, WritesANewFileAndReplacesAnOldOne) {
  ASSERT_TRUE(ReplaceFile(path_, "one").ok());
  EXPECT_EQ(Read(path_), "one");
  ASSERT_TRUE(ReplaceFile(path_, "2").ok());
  EXPECT_EQ(Read(path_), "2");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(ReplacedFileTest, OldFileStandsUntilTheNewOneIsWhole) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  auto file = ReplacedFile::Create(path_);
  ASSERT_TRUE(file.ok());
  (*file)->Write(std::string(1 << 17, 'x'));
  EXPECT_EQ(Read(path_), "old");
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(Read(path_).size(), 1 << 17);
}

TEST_F(ReplacedFileTest, WithoutCloseNothingIsReplaced) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  {
    auto file = ReplacedFile::Create(path_);
    ASSERT_TRUE(file.ok());
    (*file)->Write("new");
  }
  EXPECT_EQ(Read(path_), "old");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(ReplacedFileTest, WhatDoesNotFitLeavesTheOldFile) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = ReplaceFile(path_, std::string(1 << 17, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.message(),
            "cannot write " + path_ +
                ": File too large; what was there before is unchanged");
  EXPECT_EQ(Read(path_), "old");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(ReplacedFileTest, LinkAndModeStay) {
  const std::string link = folder_ / "link.json";
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  std::filesystem::create_symlink("a.json", link);
  ASSERT_TRUE(ReplaceFile(link, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Read(path_), "new");
  struct stat there = {};
  ASSERT_EQ(stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0640);
}

TEST_F(ReplacedFileTest, LinkThatLeadsNowhereYetStays) {
  const std::string link = folder_ / "link.json";
  std::filesystem::create_directory(folder_ / "inner");
  std::filesystem::create_symlink("inner/second", link);
  std::filesystem::create_symlink("third", folder_ / "inner" / "second");
  ASSERT_TRUE(ReplaceFile(link, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Read(folder_ / "inner" / "third"), "new");
}

TEST_F(ReplacedFileTest, LinksInACircleAreTold) {
  std::filesystem::create_symlink("b.json", path_);
  std::filesystem::create_symlink("a.json", folder_ / "b.json");
  EXPECT_EQ(ReplaceFile(path_, "").message(),
            "cannot write " + path_ + ": Too many levels of symbolic links");
}

TEST_F(ReplacedFileTest, FileOfSeveralNamesKeepsThem) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  const std::string other = folder_ / "b.json";
  std::filesystem::create_hard_link(path_, other);
  ASSERT_TRUE(ReplaceFile(path_, std::string(1 << 17, 'x')).ok());
  EXPECT_EQ(Read(other).size(), 1 << 17);
  EXPECT_EQ(FileCount(), 2);
}

TEST_F(ReplacedFileTest, FileThatIsMountedAsIntoAContainerIsWritten) {
  ASSERT_TRUE(ReplaceFile(path_, "long and old").ok());
  const std::string mounted = folder_ / "mounted.json";
  ASSERT_TRUE(ReplaceFile(mounted, "").ok());
  if (unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount(path_.c_str(), mounted.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "expected to be allowed to mount";
  }
  EXPECT_TRUE(ReplaceFile(mounted, "new").ok());
  EXPECT_EQ(Read(path_), "new");
  EXPECT_EQ(FileCount(), 2);
  umount(mounted.c_str());
}

TEST_F(ReplacedFileTest, OwnerStaysUnderSudo) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  if (chown(path_.c_str(), 1, 2) != 0) {
    GTEST_SKIP() << "expected to be allowed to change owners";
  }
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  ASSERT_TRUE(ReplaceFile(path_, "new").ok());
  struct stat there = {};
  ASSERT_EQ(stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_uid, 1U);
  EXPECT_EQ(there.st_gid, 2U);
  EXPECT_EQ(there.st_mode & 07777, 0640);
}

TEST_F(ReplacedFileTest, AnothersFileInAStickyFolderIsWritten) {
  if (!ReplaceAnothersFile(0666, 0, 01777)) {
    GTEST_SKIP() << "expected to be allowed to change owners";
  }
}

TEST_F(ReplacedFileTest, AnothersFileThatIsOnlyReadInOnesOwnFolderIsReplaced) {
  if (!ReplaceAnothersFile(0644, 2, 0755)) {
    GTEST_SKIP() << "expected to be allowed to change owners";
  }
}

TEST_F(ReplacedFileTest, NothingIsWrittenThroughALinkThatLiesBeside) {
  const std::string other = folder_ / "other";
  ASSERT_TRUE(ReplaceFile(other, "precious").ok());
  std::filesystem::create_symlink(
      other, folder_ / (".a.json." + std::to_string(getpid())));
  ASSERT_TRUE(ReplaceFile(path_, "new").ok());
  EXPECT_EQ(Read(other), "precious");
  EXPECT_EQ(Read(path_), "new");
}

TEST_F(ReplacedFileTest, AProcessThatIsKilledLeavesBothFiles) {
  ASSERT_TRUE(ReplaceFile(path_, "old").ok());
  auto file = ReplacedFile::Create(path_);
  ASSERT_TRUE(file.ok());
  (*file)->Write(std::string(1 << 17, 'x'));
  EXPECT_EQ(Read(path_), "old");
  EXPECT_EQ(Read(folder_ / (".a.json." + std::to_string(getpid()))).size(),
            1 << 17);
}

TEST_F(ReplacedFileTest, WhatIsNoRegularFileIsWrittenInPlace) {
  EXPECT_TRUE(ReplaceFile("/dev/null", "text").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(ReplaceFile("/dev/full", "text").message(),
            "cannot write /dev/full: No space left on device");
}

TEST_F(ReplacedFileTest, FolderThatIsNotThereIsNamed) {
  EXPECT_EQ(ReplaceFile(folder_ / "none" / "a", "").message(),
            "cannot write " + (folder_ / "none" / "a").string() +
                ": No such file or directory");
}

}  // namespace
}  // namespace ferry
