// Implements the checks of values: each words what it expects and what it got.
#include "flags/value_checks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace ferry {
namespace {

std::string Refusal(absl::string_view expected, const std::string& text) {
  return absl::StrCat("expected ", expected, ", got '", text, "'");
}

}  // namespace

CLI::Validator NumberFrom(double least, double most) {
  const std::string range = absl::StrCat(least, " to ", most);
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const bool fits =
            absl::SimpleAtod(text, &value) && value >= least && value <= most;
        return fits ? std::string() : Refusal(range, text);
      },
      range);
}

CLI::Validator IntegerFrom(int64_t least, int64_t most) {
  const std::string range = absl::StrCat(least, " to ", most);
  return CLI::Validator(
      [=](const std::string& text) {
        int64_t value = 0;
        const bool fits = absl::SimpleAtoi(text, &value) &&
                          text == absl::StrCat(value) && value >= least &&
                          value <= most;
        return fits ? std::string()
                    : Refusal(absl::StrCat("a whole number, ", range), text);
      },
      range);
}

CLI::Validator OneOf(std::vector<std::string> values) {
  const std::string type = absl::StrJoin(values, "|");
  return CLI::Validator(
      [values = std::move(values)](const std::string& text) {
        if (std::find(values.begin(), values.end(), text) != values.end()) {
          return std::string();
        }
        const auto last = values.end() - 1;
        return Refusal(
            absl::StrCat(absl::StrJoin(values.begin(), last, ", "),
                         last == values.begin() ? "" : " or ", *last),
            text);
      },
      type);
}

CLI::Validator IsBool() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::string lower = absl::AsciiStrToLower(text);
        for (const char* word : {"true", "false", "on", "off", "1", "0"}) {
          if (lower == word) {
            return std::string();
          }
        }
        return Refusal("true or false", text);
      },
      "true|false");
}

}  // namespace ferry
