// Tests that notes come before lines to paste, not between or after them.
#include "models/warm_up_lines.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace ferry {
namespace {

TEST(WarmUpLinesTest, NotesComeBeforeWhatToDo) {
  const std::string lines = WarmUpLines(
      {{{"x", DataType::kFp32, {4}}}, {{"y", DataType::kFp32, {4}}}, 8});
  const std::string failure = absl::StrCat("it throws; ", lines);
  EXPECT_EQ(WithoutWarmUpLines(failure), "it throws");
  EXPECT_EQ(WithNote(failure, "; in bf16: so"),
            absl::StrCat("it throws; in bf16: so; ", lines));
  EXPECT_EQ(WithoutWarmUpLines("no file"), "no file");
  EXPECT_EQ(WithNote("no file", "; in bf16: so"), "no file; in bf16: so");
}

}  // namespace
}  // namespace ferry
