// Tests which files can be written, and what is said of others.
#include "bench/report/writable_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ferry::bench {
namespace {

// What the check says of that text; empty where it is fine.
std::string Said(const std::string& text) {
  std::string checked = text;
  return WritableFile()(checked);
}

TEST(WritableFileTest, NewAndOldFilesOfAFolderCanBeWritten) {
  const std::filesystem::path folder(testing::TempDir());
  const std::string old_file = folder / "writable_file_test_old";
  std::ofstream(old_file) << "kept";
  EXPECT_EQ(Said(old_file), "");
  const std::string new_file = folder / "writable_file_test_new";
  EXPECT_EQ(Said(new_file), "");
  EXPECT_FALSE(std::filesystem::exists(new_file)) << "a check makes no file";
  std::string text;
  std::ifstream(old_file) >> text;
  EXPECT_EQ(text, "kept") << "nor does it empty one";
  std::filesystem::remove(old_file);
  EXPECT_EQ(Said("writable_file_test_in_this_folder"), "");
}

TEST(WritableFileTest, WhatIsInTheWayIsNamed) {
  EXPECT_EQ(Said("/nonexistent/a.json"),
            "expected a file that can be written, got '/nonexistent/a.json': "
            "no folder /nonexistent");
  EXPECT_THAT(Said("/proc/a.html"),
              testing::StartsWith("expected a file that can be written, got "
                                  "'/proc/a.html': no file can be made in "
                                  "/proc ("))
      << "root may write to that folder";
  EXPECT_EQ(Said("/"),
            "expected a file that can be written, got '/': a folder");
}

// What the check of folders says of that text; empty where it is fine.
std::string SaidOfFolder(const std::string& text) {
  std::string checked = text;
  return NewFolder()(checked);
}

TEST(NewFolderTest, MissingAndEmptyFoldersCanBeWritten) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "new_folder_test";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(SaidOfFolder(folder), "");
  EXPECT_EQ(SaidOfFolder(folder / ""), "") << "with a slash at its end";
  EXPECT_FALSE(std::filesystem::exists(folder)) << "a check makes none";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(SaidOfFolder(folder), "");
  std::filesystem::remove(folder);
  EXPECT_EQ(SaidOfFolder("new_folder_test_in_this_folder"), "");
}

TEST(NewFolderTest, WhatIsInTheWayIsNamed) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "full_folder_test";
  std::filesystem::create_directory(folder);
  const std::string file = folder / "old";
  std::ofstream(file) << "kept";
  const auto expected = [](const std::string& path, const char* why) {
    return "expected a folder that is new or empty, got '" + path + "': " + why;
  };
  EXPECT_EQ(SaidOfFolder(folder), expected(folder, "files are in it"));
  EXPECT_EQ(SaidOfFolder(file), expected(file, "a file"));
  EXPECT_EQ(SaidOfFolder("/nonexistent/a"),
            expected("/nonexistent/a", "no folder /nonexistent"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ferry::bench
