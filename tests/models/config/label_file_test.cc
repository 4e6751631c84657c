// Tests that the names of classes are read, and bad files refused.
#include "models/config/label_file.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LabelFileTest, OneLabelALine) {
  const TempFolder folder;
  folder.Write("labels.txt", "cat\n  dog \r\n\nbird\n\n");
  const auto labels = ReadLabels(folder.path("labels.txt"));
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_THAT(*labels, ElementsAre("cat", "dog", "", "bird", ""));
}

TEST(LabelFileTest, MissingAndEmptyFilesAreNamed) {
  const TempFolder folder;
  folder.Write("empty.txt", "");
  const std::pair<const char*, absl::StatusCode> files[] = {
      {"none.txt", absl::StatusCode::kNotFound},
      {"empty.txt", absl::StatusCode::kInvalidArgument}};
  for (const auto& [name, code] : files) {
    const auto labels = ReadLabels(folder.path(name));
    EXPECT_EQ(labels.status().code(), code);
    EXPECT_THAT(std::string(labels.status().message()), HasSubstr(name));
  }
}

TEST(LabelFileTest, FileThatIsTooLargeIsRefused) {
  const TempFolder folder;
  folder.Write("large.txt", std::string((16 << 20) + 1, 'x'));
  EXPECT_EQ(ReadLabels(folder.path("large.txt")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ferry
