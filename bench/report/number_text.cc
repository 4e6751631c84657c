// Implements Ms() and its like: how many digits a number is worth.
#include "bench/report/number_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::bench {

std::string Ms(double us) {
  const double ms = us / 1e3;
  return absl::StrFormat(ms < 10 ? "%.3f" : ms < 100 ? "%.2f" : "%.1f", ms);
}

std::string MsOrNone(double us) { return us == 0 ? "-" : Ms(us); }

std::string MsOrNone(const std::optional<Interval>& interval) {
  return interval.has_value()
             ? absl::StrCat(Ms(interval->low_us), " to ", Ms(interval->high_us))
             : "-";
}

std::string NumberOrNone(const std::optional<double>& value, int digits) {
  return value.has_value() ? absl::StrFormat("%.*f", digits, *value) : "-";
}

std::string Percent(double share) {
  const double percent = share * 100;
  return absl::StrFormat(percent == 0    ? "%.0f %%"
                         : percent < 0.1 ? "%.3f %%"
                         : percent < 10  ? "%.2f %%"
                                         : "%.1f %%",
                         percent);
}

std::string MsInWords(double us) {
  const double ms = us / 1e3;
  return absl::StrFormat(ms < 9.995   ? "%.2f ms"
                         : ms < 99.95 ? "%.1f ms"
                                      : "%.0f ms",
                         ms);
}

std::string RateInWords(double rate) {
  return rate < 9.995   ? absl::StrFormat("%.2f", rate)
         : rate < 99.95 ? absl::StrFormat("%.1f", rate)
                        : Grouped(std::llround(rate));
}

std::string Grouped(int64_t number) {
  std::string digits = absl::StrCat(number);
  const size_t sign = number < 0 ? 1 : 0;
  for (size_t place = digits.size(); place > sign + 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

}  // namespace ferry::bench
