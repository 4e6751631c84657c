// Tests which runs of which file are A and B.
#include "bench/compare/compared_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;

std::vector<RunResult> Labelled(const std::vector<std::string>& labels) {
  std::vector<RunResult> runs;
  for (const std::string& label : labels) {
    runs.emplace_back().label = label;
  }
  return runs;
}

TEST(ComparedRunsTest, OneFileOfTwoLabelsHoldsBoth) {
  const auto runs =
      SelectCompared(Labelled({"x", "y", "y", "x"}), {}, {.a = "f.json"});
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->a.size(), 2U);
  EXPECT_EQ(runs->a[0].label, "x");
  EXPECT_EQ(runs->b[0].label, "y");
  const auto turned =
      SelectCompared(Labelled({"x", "y"}), {}, {.a = "f.json", .label_a = "y"});
  ASSERT_TRUE(turned.ok()) << turned.status();
  EXPECT_EQ(turned->b[0].label, "x");
}

TEST(ComparedRunsTest, LabelsAreAskedForWhereThereIsDoubt) {
  const auto one = SelectCompared(Labelled({"x"}), {}, {.a = "f.json"});
  EXPECT_THAT(std::string(one.status().message()),
              HasSubstr("f.json: expected two labels in one file"));
  const auto three =
      SelectCompared(Labelled({"x", "y", "z"}), {}, {.a = "f.json"});
  EXPECT_THAT(std::string(three.status().message()),
              HasSubstr("found the labels 'x', 'y', 'z'"));
  const auto mixed = SelectCompared(Labelled({"x", "y"}), Labelled({"x"}),
                                    {.a = "f.json", .b = "g.json"});
  EXPECT_THAT(std::string(mixed.status().message()),
              HasSubstr("f.json: expected --label-a"));
  const auto unknown =
      SelectCompared(Labelled({"x"}), Labelled({"y"}),
                     {.a = "f.json", .b = "g.json", .label_b = "z"});
  EXPECT_THAT(
      std::string(unknown.status().message()),
      HasSubstr("g.json: expected the label 'z', found the labels 'y'"));
}

TEST(ComparedRunsTest, TunesAreTakenWholeWhateverTheyTried) {
  auto a = Labelled({"eager, 64 rows", "eager, 32 rows"});
  auto b = Labelled({"window, 64 rows, 2 ms"});
  const ComparedFiles files = {.a = "f.json", .b = "g.json"};
  EXPECT_FALSE(SelectCompared(a, b, files).ok());
  for (auto* const runs : {&a, &b}) {
    for (RunResult& run : *runs) {
      run.search.emplace();
      run.runtime_options.emplace();
    }
  }
  const auto runs = SelectCompared(a, b, files);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->a.size(), 2U);
}

TEST(ComparedRunsTest, TwoFilesOfTheSameLabelsAreTakenWhole) {
  const auto runs = SelectCompared(Labelled({"x", "y"}), Labelled({"y", "x"}),
                                   {.a = "f.json", .b = "g.json"});
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->a.size(), 2U);
  EXPECT_EQ(runs->b.size(), 2U);
}

}  // namespace
}  // namespace ferry::bench
