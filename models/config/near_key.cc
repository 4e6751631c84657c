// Implements IsNear by the edit distance of both.
#include "models/config/near_key.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

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

// Levenshtein's distance.
size_t Edits(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // [characters of b]
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

bool IsNear(absl::string_view key, absl::string_view known) {
  const std::string a =
      Normalized(key.substr(0, known.size() + kMostEdits + 1));
  const std::string b = Normalized(known);
  if (a.size() >= kLeastBegin && absl::StartsWith(b, a)) {
    return true;
  }
  return Edits(a, b) <= kMostEdits;
}

}  // namespace ferry
