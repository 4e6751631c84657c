// Implements IsNear by the edit distance of both.
#include "models/config/near_key.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "flags/edit_distance.h"

namespace ferry {
namespace {

constexpr size_t kMostEdits = 2;
constexpr size_t kLeastBegin = 8;

std::string Normalized(absl::string_view key) {
  std::string text = absl::AsciiStrToLower(key);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '-' || c == '.'; },
      '_');
  return text;
}

}  // namespace

bool IsNear(absl::string_view key, absl::string_view known) {
  const std::string a =
      Normalized(key.substr(0, known.size() + kMostEdits + 1));
  const std::string b = Normalized(known);
  if (a.size() >= kLeastBegin && absl::StartsWith(b, a)) {
    return true;
  }
  return EditDistance(a, b, kMostEdits) <= kMostEdits;
}

}  // namespace ferry
