// Implements IsUtf8 and PrintableText, character by character.
#include "base/printable_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

// Returns how many bytes follow the first one of a UTF-8 character, or -1 for a
// byte that begins none.
int FollowingBytes(uint8_t first) {
  if (first < 0x80) {
    return 0;
  }
  if (first < 0xC2 || first > 0xF4) {
    return -1;
  }
  return first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
}

// Returns the bytes of the UTF-8 character that the text begins with; 0 where
// it begins with none.
size_t CharacterSize(absl::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const int following = FollowingBytes(first);
  if (following < 0 || static_cast<size_t>(following) >= text.size()) {
    return 0;
  }
  uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  const size_t size = static_cast<size_t>(following) + 1;
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < least || byte > most) {
      return 0;
    }
    least = 0x80;
    most = 0xBF;
  }
  return size;
}

// Returns the number of a character, given its UTF-8.
uint32_t CodePoint(absl::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  const size_t size = character.size();
  uint32_t code = size == 1 ? first : first & (0xFFu >> (size + 1));
  for (const char c : character.substr(1)) {
    code = code << 6 | (static_cast<uint8_t>(c) & 0x3Fu);
  }
  return code;
}

// What is not shown: Unicode's controls, line and paragraph separators, and
// of its format characters those that nothing is seen of.
struct CodeRange {
  uint32_t first;
  uint32_t last;
};
constexpr CodeRange kHidden[] = {
    {0x00, 0x1F},        // C0, with newline and escape
    {0x7F, 0x9F},        // DEL and C1, with next line and a terminal's escape
    {0xAD, 0xAD},        // soft hyphen
    {0x61C, 0x61C},      // Arabic letter mark
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200F},    // without width; marks of direction
    {0x2028, 0x202E},    // separators; embeddings and overrides of direction
    {0x2060, 0x206F},    // word joiner to isolates of direction
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFF9, 0xFFFB},    // interlinear annotations
    {0x1D173, 0x1D17A},  // of musical notation
    {0xE0000, 0xE007F},  // tags
};

bool IsHidden(uint32_t code) {
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [code](const CodeRange& range) {
                       return range.first <= code && code <= range.last;
                     });
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) {
      return false;
    }
    text.remove_prefix(size);
  }
  return true;
}

std::string PrintableText(absl::string_view text, size_t max_bytes,
                          absl::string_view kept) {
  std::string printable;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const bool is_shown =
        size > 0 && (!IsHidden(CodePoint(text.substr(0, size))) ||
                     kept.find(text[0]) != kept.npos);
    const std::string next =
        is_shown ? std::string(text.substr(0, size))
                 : absl::StrCat("\\x", absl::Hex(static_cast<uint8_t>(text[0]),
                                                 absl::kZeroPad2));
    if (printable.size() + next.size() > max_bytes) {
      return printable + "...";
    }
    printable += next;
    text.remove_prefix(is_shown ? size : 1);
  }
  return printable;
}

}  // namespace ferry
