// Implements Suggestion(): counts edits, then compares part by part.
#include "flags/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace ferry {
namespace {

constexpr size_t kMostNames = 3;
constexpr size_t kFar = 1000;        // no suggestion
constexpr size_t kLeastLetters = 4;  // of what may have a typo
constexpr size_t kLettersAnEdit = 8;
constexpr size_t kBehindEdits = 100;

// Returns how many letters are to be added, taken away, changed or swapped with
// their neighbour. Source: F. J. Damerau, Communications of the ACM 7, 1964.
size_t Edits(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1,
                         last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1)});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
        row[k] = std::min(row[k], before[k - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// Whether a part of a word stands for one of a name: "sat" for "saturation".
bool IsPart(const std::string& part, const std::string& of) {
  return absl::StartsWith(of, part) || absl::StartsWith(part, of) ||
         (part.size() >= kLeastLetters && Edits(part, of) == 1);
}

// Returns how far the name is from the word: by their letters, or, behind all
// that are near by those, by the parts that the word lacks.
size_t Distance(const std::string& word, const std::string& name) {
  const size_t edits = Edits(word, name);
  if (word.size() >= kLeastLetters &&
      edits <= 1 + word.size() / kLettersAnEdit) {
    return edits;
  }
  const std::vector<std::string> wanted = absl::StrSplit(word, '-');
  const std::vector<std::string> parts = absl::StrSplit(name, '-');
  size_t found = 0;
  for (const std::string& part : parts) {
    found += found < wanted.size() && IsPart(wanted[found], part) ? 1 : 0;
  }
  return found == wanted.size() ? kBehindEdits + parts.size() : kFar;
}

std::string Plain(absl::string_view text) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(
      text.substr(std::min(text.find_first_not_of('-'), text.size())),
      {{"_", "-"}}));
}

}  // namespace

std::string Suggestion(const std::string& word,
                       const std::vector<std::string>& names) {
  const std::string wanted = Plain(word);
  size_t least = kFar;
  std::vector<std::string> nearest;
  for (const std::string& name : names) {
    const size_t distance =
        wanted.empty() ? kFar : Distance(wanted, Plain(name));
    if (distance < least) {
      least = distance;
      nearest.clear();
    }
    if (distance == least && least < kFar && nearest.size() < kMostNames &&
        std::find(nearest.begin(), nearest.end(), name) == nearest.end()) {
      nearest.push_back(name);
    }
  }
  return nearest.empty() ? ""
                         : absl::StrCat("; did you mean ",
                                        absl::StrJoin(nearest, " or "), "?");
}

}  // namespace ferry
