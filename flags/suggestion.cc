// Implements Suggestion(): by edit distance, then part by part.
#include "flags/suggestion.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "flags/edit_distance.h"

namespace ferry {
namespace {

constexpr size_t kMostNames = 3;
constexpr size_t kFar = 1000;        // no suggestion
constexpr size_t kLeastLetters = 4;  // of what may have a typo
constexpr size_t kLettersAnEdit = 8;
constexpr size_t kBehindEdits = 100;

// Whether a part of a word stands for one of a name: "sat" for "saturation".
bool IsPart(const std::string& part, const std::string& of) {
  return absl::StartsWith(of, part) || absl::StartsWith(part, of) ||
         (part.size() >= kLeastLetters && EditDistance(part, of, 1) == 1);
}

// Returns how far the name is from the word: by their letters, or, behind all
// that are near by those, by the parts that the word lacks.
size_t Distance(const std::string& word, const std::string& name) {
  const size_t most =
      word.size() < kLeastLetters ? 0 : 1 + word.size() / kLettersAnEdit;
  const size_t edits = EditDistance(word, name, most);
  if (edits <= most) {
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
