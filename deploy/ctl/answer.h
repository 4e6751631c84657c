// Answer is what a command of ferryctl says: a sentence, its numbers with their
// formulas, and what was found; AnswerText() and AnswerJson() write it.
//
// Thread safety: plain values and free functions over them.
#ifndef FERRY_DEPLOY_CTL_ANSWER_H_
#define FERRY_DEPLOY_CTL_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/plan/formulas.h"

namespace ferry::ctl {

enum class Severity : uint8_t { kNote, kWarning, kCritical };

// Returns "note", "warning" or "critical".
const char* SeverityName(Severity severity);

absl::StatusOr<Severity> ParseSeverity(const std::string& name);

// Something that the asker should know, and do something about unless it is a
// note. The name is for programs: lower case, with underscores.
struct Finding {
  Severity severity = Severity::kNote;
  std::string name;
  std::string text;
};

// Rows below headings, each as long as they are.
struct AnswerTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

struct Answer {
  std::string command;   // "cost breakeven"
  std::string sentence;  // the answer in one
  // What it rests on, by name: the row of a price file, a result, a window.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::string currency;  // of the numbers; empty: none is money
  std::vector<plan::Number> numbers;
  AnswerTable table;  // without rows where the numbers say all
  std::vector<Finding> findings;
  // A file that was asked for, which is printed in place of the text.
  std::string artifact;

  // Returns that of the gravest finding; nothing without one.
  std::optional<Severity> gravest() const;
};

// Returns the answer for people, no line wider than that; 0: any width.
std::string AnswerText(const Answer& answer, size_t columns = 0);

// Returns it in the format "ferryctl-answer/1", docs/ctl-answer.schema.json.
// `date`: when it was asked, as in "2026-01-31T12:00:00Z".
std::string AnswerJson(const Answer& answer, const std::string& date);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_ANSWER_H_
