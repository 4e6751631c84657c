// Implements NumberText() and its like.
#include "bench/plan/number_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace ferry::plan {

std::string NumberText(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    return absl::StrFormat("%.0f", value);
  }
  const double size = std::fabs(value);
  return size >= 100 ? absl::StrFormat("%.1f", value)
         : size >= 1 ? absl::StrFormat("%.3f", value)
                     : absl::StrFormat("%.4g", value);
}

std::string MoneyText(double value) {
  std::string text = absl::StrFormat("%.2f", value);
  const size_t first = text[0] == '-' ? 1 : 0;
  constexpr size_t kCents = 3;  // with their point
  for (size_t at = text.size() - kCents; at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string UnitText(const Formula& formula, const std::string& currency) {
  return absl::StrReplaceAll(formula.unit, {{"currency", currency}});
}

std::string FormulaText(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number& number : numbers) {
    absl::StrAppend(&text, "  ", number.formula.name, " = ",
                    number.formula.expression,
                    "\n      source: ", number.formula.source, "\n");
  }
  return text;
}

}  // namespace ferry::plan
