// Implements ParseDay(); the standard library knows which days exist.
#include "bench/plan/calendar.h"

#include <cstddef>

namespace ferry::plan {
namespace {

// Returns the number in `count` digits from `begin` on, or -1.
int Digits(const std::string& text, size_t begin, size_t count) {
  int number = 0;
  for (size_t i = begin; i < begin + count; ++i) {
    if (text[i] < '0' || text[i] > '9') {
      return -1;
    }
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

}  // namespace

std::optional<std::chrono::sys_days> ParseDay(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') {
    return std::nullopt;
  }
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  if (year < 0 || month < 0 || day < 0) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
      std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date);
}

}  // namespace ferry::plan
