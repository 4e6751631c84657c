// Tests that regular files are read, and all else is refused at once.
#include "models/files/read_file.h"

#include <sys/stat.h>

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

TEST(ReadFileTest, ReadsAllUpToItsBound) {
  const TempFolder folder;
  const std::string text(200'000, 'x');
  const std::string path = folder.Write("file", text);
  EXPECT_EQ(ReadFile(path, text.size()).value(), text);
  EXPECT_EQ(ReadFile(folder.Write("empty", ""), 10).value(), "");
  const absl::Status status = ReadFile(path, text.size() - 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("expected at most 199999 bytes, got more"));
}

TEST(ReadFileTest, WhatIsNoFileIsRefused) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(mknod(folder.path("socket").c_str(), S_IFSOCK | 0600, 0), 0);
  folder.Write("folder/file", "");
  EXPECT_EQ(ReadFile(folder.path("none"), 10).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckRegularFile(folder.path("none")).code(),
            absl::StatusCode::kNotFound);
  for (const auto& [name, what] :
       {std::pair("pipe", "pipe, socket or device"),
        std::pair("socket", "pipe, socket or device"),
        std::pair("folder", "folder")}) {
    for (const absl::Status& status : {ReadFile(folder.path(name), 10).status(),
                                       CheckRegularFile(folder.path(name))}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(std::string("expected a file, got a ") + what));
    }
  }
  EXPECT_TRUE(CheckRegularFile(folder.path("folder/file")).ok());
}

}  // namespace
}  // namespace ferry
