// Implements ToText(): columns side by side, or on a terminal that is too
// narrow for them, in blocks below each other.
#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/printable_text.h"
#include "bench/report/report_table.h"
#include "flags/terminal.h"

namespace ferry::bench {
namespace {

using Cells = std::vector<std::string>;

constexpr size_t kLeftAligned = 2;  // columns of words, not of numbers
constexpr size_t kGap = 2;          // between columns

// A column with its heading, and whether it names the row.
struct Column {
  Cells cells;
  bool is_name = false;
  bool is_left = false;

  size_t width() const {
    size_t widest = 0;
    for (const std::string& cell : cells) {
      widest = std::max(widest, cell.size());
    }
    return widest;
  }
  bool IsTheSame() const {
    return std::equal(cells.begin() + 2, cells.end(), cells.begin() + 1);
  }
  bool SaysNothing() const {
    return std::all_of(cells.begin() + 1, cells.end(), [](const auto& cell) {
      return cell.empty() || cell == "-";
    });
  }
};

using Columns = std::vector<Column>;

Columns ColumnsOf(const ReportTable& table) {
  Columns columns;
  for (size_t i = 0; i < table.headings.size(); ++i) {
    Column& column = columns.emplace_back();
    column.is_name = i < table.names;
    column.is_left = i < kLeftAligned;
    column.cells.push_back(table.headings[i]);
    for (const Cells& row : table.rows) {
      column.cells.push_back(PrintableText(row[i]));
    }
  }
  return columns;
}

size_t WidthOf(const Columns& columns) {
  return std::accumulate(columns.begin(), columns.end(), size_t{0},
                         [](size_t width, const Column& column) {
                           return width + (width > 0 ? kGap : 0) +
                                  column.width();
                         });
}

// A cell of the last column goes on in the next line where it is too long.
std::string Lines(const Columns& columns, size_t most) {
  if (columns.empty()) {
    return "";
  }
  const size_t before =
      columns.size() < 2 ? 0
                         : WidthOf({columns.begin(), columns.end() - 1}) + kGap;
  const bool wraps = most > 0 && WidthOf(columns) > most;
  std::string text;
  for (size_t row = 0; row < columns.front().cells.size(); ++row) {
    std::string line;
    for (const Column& column : columns) {
      const std::string& cell = column.cells[row];
      if (wraps && &column == &columns.back()) {
        line += Wrapped(absl::StripTrailingAsciiWhitespace(cell), most, before,
                        before);
        continue;
      }
      // Names to the left, numbers to the right.
      const int width = static_cast<int>(column.width());
      absl::StrAppendFormat(&line, "%*s  ", column.is_left ? -width : width,
                            cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

// Takes out the names that all rows share, and says them in a line.
std::string TakeTitle(Columns& columns, size_t most) {
  std::string title;
  std::erase_if(columns, [&title](const Column& column) {
    if (!column.is_name || column.cells.size() < 2 || !column.IsTheSame()) {
      return false;
    }
    absl::StrAppend(&title, title.empty() ? "" : "; ", column.cells[0], ": ",
                    column.cells[1]);
    return true;
  });
  return title.empty() ? "" : absl::StrCat(Wrapped(title, most, 2), "\n");
}

// Takes out names that leave no room beside them for numbers: rows are numbered
// instead, in a list that comes first.
std::string TakeLongNames(Columns& names, size_t most) {
  if (WidthOf(names) <= most / 2) {
    return "";
  }
  Column numbers{.cells = {"row"}, .is_name = true, .is_left = true};
  std::string list;
  for (size_t row = 1; row < names.front().cells.size(); ++row) {
    std::string line = absl::StrCat(row, "  ");
    for (const Column& name : names) {
      absl::StrAppend(&line, &name == &names.front() ? "" : ", ",
                      name.cells[row]);
    }
    absl::StrAppend(&list, Wrapped(line, most, 3), "\n");
    numbers.cells.push_back(absl::StrCat(row));
  }
  names = {numbers};
  return list;
}

// Columns side by side as far as they fit, behind the names of the rows.
std::string Blocks(Columns columns, size_t most) {
  std::string text = TakeTitle(columns, most);
  Columns names;
  Columns numbers;
  for (Column& column : columns) {
    (column.is_name ? names : numbers).push_back(std::move(column));
  }
  if (!names.empty()) {
    text += TakeLongNames(names, most);
  }
  Columns block = names;
  const auto end_block = [&] {
    if (block.size() > names.size()) {
      absl::StrAppend(&text, text.empty() ? "" : "\n", Lines(block, most));
    }
    block = names;
  };
  for (Column& column : numbers) {
    block.push_back(column);
    if (WidthOf(block) > most && block.size() > names.size() + 1) {
      block.pop_back();
      end_block();
      block.push_back(column);
    }
  }
  end_block();
  return text;
}

}  // namespace

std::string ToText(const ReportTable& table, size_t columns) {
  Columns all = ColumnsOf(table);
  if (columns > 0 && WidthOf(all) > columns && !table.rows.empty()) {
    std::erase_if(all, [](const Column& column) {
      return !column.is_name && column.SaysNothing();
    });
  }
  std::string text = columns > 0 && WidthOf(all) > columns
                         ? Blocks(std::move(all), columns)
                         : Lines(all, columns);
  for (const std::string& note : table.notes) {
    absl::StrAppend(&text, Wrapped(PrintableText(note), columns, kGap), "\n");
  }
  return text;
}

}  // namespace ferry::bench
