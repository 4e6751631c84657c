// Implements TableToHtml(): writes one line for each row.
#include "bench/report/html_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace ferry::bench {
namespace {

std::string Row(const std::vector<std::string>& cells, const char* tag,
                const char* attributes) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) {
    absl::StrAppend(&html, "<", tag, attributes, ">", Escape(cell), "</", tag,
                    ">");
  }
  return html + "</tr>\n";
}

}  // namespace

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                    {"<", "&lt;"},
                                    {">", "&gt;"},
                                    {"\"", "&quot;"},
                                    {"'", "&#39;"}});
}

std::string TableToHtml(const ReportTable& table) {
  // A box that scrolls is reached by the keyboard only where it has a tabindex.
  std::string html = absl::StrCat(
      "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>",
      Row(table.headings, "th", " scope=\"col\""), "</thead>\n<tbody>");
  for (const auto& row : table.rows) {
    html += Row(row, "td", "");
  }
  return html + "</tbody></table></div>\n";
}

std::string FoldedTable(const std::string& summary, const ReportTable& table) {
  return absl::StrCat(
      "<details><summary>", Escape(summary), " <span class=\"count\">",
      table.rows.size(), table.rows.size() == 1 ? " row" : " rows",
      "</span></summary>\n", TableToHtml(table), "</details>\n");
}

}  // namespace ferry::bench
