// Implements AdviseAnswer().
#include "deploy/ctl/advise_answer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "bench/plan/cost.h"
#include "bench/plan/formulas.h"
#include "bench/plan/number_text.h"

namespace ferry::ctl {
namespace {

// Adds an input once; one that another step has otherwise is named by its step,
// as names are keys in JSON.
void AddInput(const std::string& step,
              std::pair<std::string, std::string> input, Answer& answer) {
  const auto same = std::find_if(
      answer.inputs.begin(), answer.inputs.end(),
      [&input](const auto& other) { return other.first == input.first; });
  if (same != answer.inputs.end() && same->second == input.second) {
    return;
  }
  if (same != answer.inputs.end()) {
    input.first = absl::StrCat(input.first, " of ", step);
  }
  answer.inputs.push_back(std::move(input));
}

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
  for (const auto& input : said.inputs) {
    AddInput(step.name, input, answer);
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

std::string DevicesText(const Change& change) {
  return absl::StrCat(change.devices_needed, " devices in place of ",
                      change.devices_now);
}

std::string ChangeText(const Change& change, const std::string& currency) {
  std::string text = DevicesText(change);
  if (change.price.has_value()) {
    const plan::PriceRow& price = *change.price;
    const int64_t fewer = InstancesOf(change.devices_now, price) -
                          InstancesOf(change.devices_needed, price);
    const double per_month =
        static_cast<double>(fewer * price.devices_per_instance) *
        plan::DevicePerHour(price) * plan::kHoursPerMonth;
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

std::optional<Finding> FirstWarning(const Advice& advice,
                                    const std::string& step_name) {
  for (const AdviceStep& step : advice.steps) {
    if (step.name != step_name || !step.answer.ok()) {
      continue;
    }
    for (const Finding& finding : step.answer->findings) {
      if (finding.severity != Severity::kNote) {
        return finding;
      }
    }
  }
  return std::nullopt;
}

bool IsKnown(const Advice& advice, const std::string& step_name) {
  return std::any_of(advice.steps.begin(), advice.steps.end(),
                     [&](const AdviceStep& step) {
                       return step.name == step_name && step.answer.ok();
                     });
}

std::string ChangeFirst(const Advice& advice) {
  constexpr char kFirst[] = "Change first: ";
  if (const auto cause = FirstWarning(advice, kReasonStep)) {
    return absl::StrCat(kFirst, cause->text, ".");
  }
  if (advice.change.has_value() &&
      advice.change->devices_needed != advice.change->devices_now) {
    return absl::StrCat(kFirst, DevicesText(*advice.change), ".");
  }
  if (const auto verdict = FirstWarning(advice, kMeasureStep)) {
    return absl::StrCat(kFirst, verdict->text, ".");
  }
  return IsKnown(advice, kMeasureStep)
             ? "Nothing has to change, by what was measured."
             : "Not known: measure first.";
}

}  // namespace

int64_t InstancesOf(int64_t devices, const plan::PriceRow& price) {
  const int64_t size = price.devices_per_instance;
  return (devices + size - 1) / size;
}

std::optional<Finding> OfAnotherDevice(const std::string& measured,
                                       const std::string& priced) {
  const std::string name = absl::AsciiStrToLower(measured);
  for (const absl::string_view word :
       absl::StrSplit(absl::AsciiStrToLower(priced), absl::ByAnyChar(" -_."))) {
    if (!std::any_of(word.begin(), word.end(), absl::ascii_isdigit)) {
      continue;
    }
    if (measured.empty() || absl::StrContains(name, word)) {
      return std::nullopt;
    }
    return Finding{
        Severity::kNote, "another_device",
        absl::StrCat("the result was measured on '", measured,
                     "', and the price is of '", priced,
                     "': expected one device; where these are two names of it, "
                     "all is well")};
  }
  return std::nullopt;
}

Answer AdviseAnswer(const Advice& advice) {
  Answer answer;
  answer.command = "advise";
  answer.sentence = ChangeFirst(advice);
  answer.table.headings = {"step", "answer"};
  for (const AdviceStep& step : advice.steps) {
    AddStep(step, answer);
  }
  if (advice.change.has_value()) {
    answer.currency =
        advice.currency.empty() ? answer.currency : advice.currency;
    answer.table.rows.push_back(
        {"change", ChangeText(*advice.change, advice.currency)});
  }
  return answer;
}

}  // namespace ferry::ctl
