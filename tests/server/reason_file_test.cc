// Tests what the reason file has of ends, and that it is bounded.
#include "server/reason_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ReasonFileTest, OneThatCannotBeWrittenIsNamed) {
  const TempFolder folder;
  for (const std::string& path : {folder.path("no/file"), folder.path()}) {
    EXPECT_THAT(std::string(OpenReasonFile(path).message()),
                HasSubstr("cannot open '" + path + "': "));
  }
  WriteReason("nothing", 1);  // goes nowhere
}

TEST(ReasonFileTest, HasReasonsOneAfterTheOtherAsFarAsThereIsRoom) {
  const TempFolder folder;
  const std::string path = folder.Write("reason", "of the last start");
  ASSERT_TRUE(OpenReasonFile(path).ok());
  EXPECT_EQ(Read(path), "");
  WriteReason("cannot go on: \x1b", 3);
  WriteReason("late", 4);
  const std::string both =
      "cannot go on: \\x1b; exit code 3\nlate; exit code 4\n";
  EXPECT_EQ(Read(path), both);
  for (int i = 0; i < 3; ++i) {
    AppendReason(std::string(kMaxReasonBytes - 100, 'x'));
  }
  EXPECT_EQ(Read(path).size(), kMaxReasonBytes);
  EXPECT_THAT(Read(path), StartsWith(both + "xxx"));
}

}  // namespace
}  // namespace ferry
