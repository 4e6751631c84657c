// Implements AnswerText() and AnswerJson().
#include "deploy/ctl/answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/plan/number_text.h"
#include "flags/terminal.h"

namespace ferry::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr Severity kSeverities[] = {Severity::kNote, Severity::kWarning,
                                    Severity::kCritical};
constexpr size_t kIndent = 6;

// Whether the last cell of each row is a number, or "-" for one not known.
bool EndsWithNumbers(const AnswerTable& table) {
  return std::all_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    const char first = row.back().empty() ? '-' : row.back().front();
    return first == '-' ||
           absl::ascii_isdigit(static_cast<unsigned char>(first));
  });
}

// Returns rows in columns, to the left; the last one to the right where it has
// numbers alone.
std::string Columns(const AnswerTable& table) {
  const bool is_to_right = EndsWithNumbers(table);
  std::vector<std::vector<std::string>> rows = {table.headings};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  std::vector<size_t> widths(table.headings.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      const bool is_last = i + 1 == row.size();
      absl::StrAppend(&text, is_last && is_to_right ? gap : "", row[i],
                      is_last ? "\n" : gap + "  ");
    }
  }
  return text;
}

AnswerTable NumberTable(const Answer& answer) {
  AnswerTable table = {.headings = {"number", "unit", "value"}, .rows = {}};
  for (const plan::Number& number : answer.numbers) {
    table.rows.push_back({number.formula.name,
                          plan::UnitText(number.formula, answer.currency),
                          plan::NumberText(number.value)});
  }
  return table;
}

Json NumbersJson(const Answer& answer) {
  Json numbers = Json::array();
  for (const plan::Number& number : answer.numbers) {
    numbers.push_back(
        {{"name", number.formula.name},
         {"unit", plan::UnitText(number.formula, answer.currency)},
         {"value", number.value},
         {"formula", number.formula.expression},
         {"source", number.formula.source}});
  }
  return numbers;
}

}  // namespace

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "";
}

absl::StatusOr<Severity> ParseSeverity(const std::string& name) {
  for (const Severity severity : kSeverities) {
    if (name == SeverityName(severity)) {
      return severity;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected 'note', 'warning' or 'critical', got '", name, "'"));
}

std::optional<Severity> Answer::gravest() const {
  const auto found = std::max_element(findings.begin(), findings.end(),
                                      [](const Finding& a, const Finding& b) {
                                        return a.severity < b.severity;
                                      });
  return found == findings.end() ? std::nullopt
                                 : std::optional<Severity>(found->severity);
}

std::string AnswerText(const Answer& answer, size_t columns) {
  std::string text = answer.sentence + "\n\n";
  for (const auto& [name, value] : answer.inputs) {
    absl::StrAppend(&text, name, ": ", value, "\n");
  }
  if (!answer.table.rows.empty()) {
    absl::StrAppend(&text, "\n", Columns(answer.table));
  }
  if (!answer.numbers.empty()) {
    absl::StrAppend(&text, "\n", Columns(NumberTable(answer)));
  }
  for (const Finding& finding : answer.findings) {
    absl::StrAppend(&text, SeverityName(finding.severity), ": ", finding.text,
                    "\n");
  }
  if (!answer.numbers.empty()) {
    absl::StrAppend(&text, "\nformulas:\n", plan::FormulaText(answer.numbers));
  }
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) {
    line = Wrapped(line, columns, kIndent);
  }
  return absl::StrJoin(lines, "\n");
}

std::string AnswerJson(const Answer& answer, const std::string& date) {
  Json inputs = Json::object();
  for (const auto& [name, value] : answer.inputs) {
    inputs[name] = value;
  }
  Json findings = Json::array();
  for (const Finding& finding : answer.findings) {
    findings.push_back({{"severity", SeverityName(finding.severity)},
                        {"name", finding.name},
                        {"text", finding.text}});
  }
  Json rows = Json::array();
  for (const auto& row : answer.table.rows) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      object[answer.table.headings[i]] = row[i];
    }
    rows.push_back(std::move(object));
  }
  Json document = {{"format", "ferryctl-answer/1"},
                   {"command", answer.command},
                   {"date", date},
                   {"answer", answer.sentence},
                   {"inputs", inputs},
                   {"numbers", NumbersJson(answer)},
                   {"rows", rows},
                   {"findings", findings}};
  if (!answer.artifact.empty()) {
    document["artifact"] = answer.artifact;
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry::ctl
