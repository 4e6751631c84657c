// Tests that a file opens as it is, and that what cannot be read is told.
#include "base/readable_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace ferry {
namespace {

TEST(OpenToReadTest, FileIsReadFromItsBegin) {
  const std::string path = testing::TempDir() + "readable_file_test";
  std::ofstream(path, std::ios::binary) << "a\r\nb";
  auto file = OpenToRead(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(*file), {}), "a\r\nb");
  std::remove(path.c_str());
}

TEST(OpenToReadTest, WhatCannotBeReadIsToldInTheSystemsWords) {
  EXPECT_EQ(OpenToRead("/nonexistent").status(),
            absl::NotFoundError(
                "cannot read /nonexistent: No such file or directory"));
  EXPECT_EQ(OpenToRead("/").status(),
            absl::NotFoundError("cannot read /: Is a directory"));
  EXPECT_EQ(OpenToRead("").status(),
            absl::NotFoundError("cannot read : No such file or directory"));
}

}  // namespace
}  // namespace ferry
