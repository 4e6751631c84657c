// Implements AnswerPage() and AnswerNote().
#include "deploy/ctl/answer_files.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/plan/number_text.h"
#include "bench/report/html_table.h"
#include "bench/report/report_assets.h"
#include "bench/report/report_table.h"

namespace ferry::ctl {
namespace {

using bench::Escape;

bench::ReportTable NumbersOf(const Answer& answer) {
  bench::ReportTable table;
  table.headings = {"number", "unit", "value"};
  table.names = 2;
  for (const plan::Number& number : answer.numbers) {
    table.rows.push_back({number.formula.name,
                          plan::UnitText(number.formula, answer.currency),
                          plan::NumberText(number.value)});
  }
  return table;
}

// The same, and why each number is that.
bench::ReportTable ReasonedNumbersOf(const Answer& answer) {
  bench::ReportTable table = NumbersOf(answer);
  table.headings.insert(table.headings.end(), {"formula", "source"});
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const plan::Formula& formula = answer.numbers[i].formula;
    table.rows[i].insert(table.rows[i].end(),
                         {formula.expression, formula.source});
  }
  return table;
}

bench::ReportTable RowsOf(const Answer& answer) {
  bench::ReportTable table;
  table.headings = answer.table.headings;
  table.rows = answer.table.rows;
  table.names = 1;
  return table;
}

std::string HtmlSection(const std::string& heading, const std::string& body) {
  return body.empty() ? "" : absl::StrCat("<h2>", heading, "</h2>\n", body);
}

std::string HtmlOf(const bench::ReportTable& table) {
  return table.rows.empty() ? "" : bench::TableToHtml(table);
}

std::string FindingsHtml(const Answer& answer) {
  std::string html;
  for (const Finding& finding : answer.findings) {
    absl::StrAppend(&html, "<li>", SeverityName(finding.severity), ": ",
                    Escape(finding.text), "</li>\n");
  }
  return html.empty() ? "" : absl::StrCat("<ul>\n", html, "</ul>\n");
}

std::string FormulasHtml(const Answer& answer) {
  std::string html;
  for (const plan::Number& number : answer.numbers) {
    const plan::Formula& formula = number.formula;
    absl::StrAppend(&html, "<li><code>", Escape(formula.name), " = ",
                    Escape(formula.expression), "</code><br>",
                    Escape(formula.source), "</li>\n");
  }
  return html.empty() ? "" : absl::StrCat("<ul>\n", html, "</ul>\n");
}

std::string InputsHtml(const Answer& answer) {
  std::string html;
  for (const auto& [name, value] : answer.inputs) {
    absl::StrAppend(&html, "<li>", Escape(name), ": ", Escape(value),
                    "</li>\n");
  }
  return html.empty() ? "" : absl::StrCat("<ul>\n", html, "</ul>\n");
}

// Text that Markdown shows as it is, in one line and in a cell of a table.
std::string Plain(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"},
                                    {"|", "\\|"},
                                    {"<", "&lt;"},
                                    {"*", "\\*"},
                                    {"_", "\\_"},
                                    {"`", "\\`"},
                                    {"[", "\\["},
                                    {"\n", " "}});
}

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    absl::StrAppend(&row, " ", Plain(cell), " |");
  }
  return row + "\n";
}

std::string MarkdownOf(const std::string& heading,
                       const bench::ReportTable& table) {
  if (table.rows.empty()) {
    return "";
  }
  std::string text =
      absl::StrCat("\n## ", heading, "\n\n", Row(table.headings));
  absl::StrAppend(&text, "|");
  for (size_t i = 0; i < table.headings.size(); ++i) {
    absl::StrAppend(&text, " --- |");
  }
  text += "\n";
  for (const auto& row : table.rows) {
    text += Row(row);
  }
  return text;
}

}  // namespace

std::string AnswerPage(const Answer& answer, const std::string& date) {
  const std::string title = absl::StrCat("ferryctl ", answer.command);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>",
      Escape(title), "</title>\n<style>\n", bench::kReportStyle,
      "</style>\n</head>\n<body>\n<header>\n<h1>", Escape(title),
      "</h1>\n<div class=\"verdict\"><p>", Escape(answer.sentence),
      "</p></div>\n<p class=\"about\">", Escape(date),
      "</p>\n</header>\n<main>\n", HtmlOf(RowsOf(answer)),
      HtmlSection("What was found", FindingsHtml(answer)),
      HtmlSection("Numbers", HtmlOf(NumbersOf(answer))),
      HtmlSection("What it rests on", InputsHtml(answer)),
      HtmlSection("Formulas", FormulasHtml(answer)),
      "</main>\n</body>\n</html>\n");
}

std::string AnswerNote(const Answer& answer, const std::string& date) {
  std::string text =
      absl::StrCat("# ", Plain(answer.sentence), "\n\n- date: ", date,
                   "\n- by: ferryctl ", answer.command, "\n");
  for (const auto& [name, value] : answer.inputs) {
    absl::StrAppend(&text, "- ", Plain(name), ": ", Plain(value), "\n");
  }
  absl::StrAppend(&text, MarkdownOf("Steps", RowsOf(answer)));
  if (!answer.findings.empty()) {
    absl::StrAppend(&text, "\n## What was found\n\n");
  }
  for (const Finding& finding : answer.findings) {
    absl::StrAppend(&text, "- ", SeverityName(finding.severity), ": ",
                    Plain(finding.text), "\n");
  }
  absl::StrAppend(&text, MarkdownOf("Numbers", ReasonedNumbersOf(answer)));
  return text;
}

}  // namespace ferry::ctl
