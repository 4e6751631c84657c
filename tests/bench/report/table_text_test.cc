// Tests how tables fit a terminal, and that they are whole without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "bench/report/report_table.h"

namespace ferry::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ReportTable TableOf(const std::vector<std::string>& labels) {
  ReportTable table;
  table.headings = {"run",    "load",     "offered/s", "p50 ms", "p90 ms",
                    "p99 ms", "queue ms", "errors",    "note"};
  for (const std::string& label : labels) {
    table.rows.push_back({label, "open, 500/s", "500", "1.234", "2.345",
                          "3.456", "-", "3 UNAVAILABLE", "unsteady"});
    table.rows.push_back({label, "closed, 64 outstanding", "8744", "11.23",
                          "12.34", "13.45", "-", "0", ""});
  }
  table.notes = {
      "unsteady: open, 500/s: the median latency of the slices went "
      "up by a fifth over the window"};
  return table;
}

size_t WidestLine(const std::string& text) {
  size_t widest = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    widest = std::max(widest, line.size());
  }
  return widest;
}

TEST(TableTextTest, WithoutATerminalAllIsThereInOneLineARow) {
  const std::string text = ToText(TableOf({"on"}));
  EXPECT_THAT(text, HasSubstr("queue ms"));
  EXPECT_THAT(text, HasSubstr("  500   1.234   2.345"));
  EXPECT_THAT(text, HasSubstr("went up by a fifth over the window\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(TableTextTest, WideTerminalHasTheSame) {
  EXPECT_EQ(ToText(TableOf({"on"}), 400), ToText(TableOf({"on"})));
}

TEST(TableTextTest, NarrowTerminalDropsWhatIsUnknownAndSharesNames) {
  const std::string text = ToText(TableOf({"on"}), 80);
  EXPECT_LE(WidestLine(text), 80U) << text;
  EXPECT_THAT(text, HasSubstr("run: on\n"));
  EXPECT_THAT(text, Not(HasSubstr("queue ms")));
  EXPECT_THAT(text, HasSubstr("3 UNAVAILABLE"));
}

TEST(TableTextTest, NoLineIsWiderThanTheTerminalWhateverTheNames) {
  for (const char* other : {"off", "a label of many words, as of a setting"}) {
    for (const size_t columns : {40, 60, 80, 100, 120}) {
      const std::string text = ToText(TableOf({"on", other}), columns);
      EXPECT_LE(WidestLine(text), columns) << text;
      for (const char* cell : {"11.23", "13.45", "3 UNAVAILABLE"}) {
        EXPECT_THAT(text, HasSubstr(cell));
      }
    }
  }
}

TEST(TableTextTest, NamesOfStrangersDoNotReachTheTerminal) {
  ReportTable table = TableOf({"on\x1b[2J\nforged"});
  table.notes = {"a\u202eb"};
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr("on\\x1b[2J\\x0aforged"));
  EXPECT_THAT(text, HasSubstr("a\\xe2\\x80\\xaeb\n"));
}

TEST(TableTextTest, TableWithoutRowsHasItsNotes) {
  ReportTable table = TableOf({});
  EXPECT_LE(WidestLine(ToText(table, 60)), 90U);
  EXPECT_THAT(ToText(table, 60), HasSubstr("unsteady: open"));
}

}  // namespace
}  // namespace ferry::bench
