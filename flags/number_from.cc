// Implements NumberFrom(): checks the range and words the refusal.
#include "flags/number_from.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ferry {

CLI::Validator NumberFrom(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        double value = 0;
        if (absl::SimpleAtod(text, &value) && value >= least && value <= most) {
          return std::string();
        }
        return absl::StrCat("expected ", least, " to ", most, ", got '", text,
                            "'");
      },
      absl::StrCat(least, " to ", most));
}

}  // namespace ferry
