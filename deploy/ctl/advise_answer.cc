// Implements AdviseAnswer().
#include "deploy/ctl/advise_answer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/plan/cost.h"
#include "bench/plan/formulas.h"
#include "bench/plan/number_text.h"

namespace ferry::ctl {
namespace {

// Adds what a step says, each number and input once.
void AddStep(const AdviceStep& step, Answer& answer) {
  if (!step.answer.ok()) {
    answer.table.rows.push_back(
        {step.name,
         absl::StrCat("not known: ", step.answer.status().message())});
    return;
  }
  const Answer& said = *step.answer;
  answer.table.rows.push_back({step.name, said.sentence});
  for (const auto& [name, value] : said.inputs) {
    const std::pair<std::string, std::string> input = {name, value};
    if (std::find(answer.inputs.begin(), answer.inputs.end(), input) ==
        answer.inputs.end()) {
      answer.inputs.push_back(input);
    }
  }
  for (const plan::Number& number : said.numbers) {
    const bool is_there = std::any_of(
        answer.numbers.begin(), answer.numbers.end(),
        [&number](const plan::Number& other) {
          return std::string(other.formula.name) == number.formula.name;
        });
    if (!is_there) {
      answer.numbers.push_back(number);
    }
  }
  for (const Finding& finding : said.findings) {
    answer.findings.push_back({finding.severity, finding.name,
                               absl::StrCat(step.name, ": ", finding.text)});
  }
  if (answer.currency.empty()) {
    answer.currency = said.currency;
  }
}

std::string ChangeText(const Change& change, const std::string& currency) {
  std::string text = absl::StrCat(change.devices_needed,
                                  " devices in place of ", change.devices_now);
  const int64_t fewer = change.devices_now - change.devices_needed;
  if (change.per_hour.has_value()) {
    const double per_month =
        static_cast<double>(fewer) * *change.per_hour * plan::kHoursPerMonth;
    absl::StrAppend(&text, fewer < 0 ? ", for " : ", saves ",
                    plan::MoneyText(fewer < 0 ? -per_month : per_month), " ",
                    currency, fewer < 0 ? " more" : "", " a month of 30 days");
  }
  absl::StrAppend(
      &text, "; p99 ",
      change.p99_ms.has_value()
          ? absl::StrFormat("%.2f ms, as measured at that rate or the next "
                            "one above",
                            *change.p99_ms)
          : "is not known: no result has that rate");
  return text + ".";
}

}  // namespace

Answer AdviseAnswer(const Advice& advice) {
  Answer answer;
  answer.command = "advise";
  answer.sentence = advice.change_first;
  answer.table.headings = {"step", "answer"};
  for (const AdviceStep& step : advice.steps) {
    AddStep(step, answer);
  }
  if (advice.change.has_value()) {
    answer.table.rows.push_back(
        {"change", ChangeText(*advice.change, answer.currency)});
  }
  return answer;
}

}  // namespace ferry::ctl
