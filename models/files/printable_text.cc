// Implements IsUtf8 and PrintableText, character by character.
#include "models/files/printable_text.h"

#include <cstdint>

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

bool IsControl(char c) {
  return static_cast<uint8_t>(c) < 0x20 || static_cast<uint8_t>(c) == 0x7F;
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
        size > 0 && (!IsControl(text[0]) || kept.find(text[0]) != kept.npos);
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
