// Implements CompactNumbers(): one pass; strings are skipped whole.
#include "bench/report/compact_json.h"

#include <cstring>

namespace ferry::bench {
namespace {

bool IsOf(const char* set, char c) {
  return c != '\0' && std::strchr(set, c) != nullptr;
}

// Returns the place behind the string that begins at `begin`.
size_t EndOfString(const std::string& text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '"') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return end + 1;
}

// Returns the place behind the array that begins at `begin`, or 0 where it has
// anything but numbers and arrays of such.
size_t EndOfNumbers(const std::string& text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) {
      return i + 1;
    }
    if (!IsOf("[]0123456789+-.eE, \n", text[i])) {
      return 0;
    }
  }
  return 0;
}

}  // namespace

std::string CompactNumbers(const std::string& text) {
  std::string compact;
  compact.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      const size_t end = EndOfString(text, i);
      compact.append(text, i, end - i);
      i = end;
      continue;
    }
    const size_t end = text[i] == '[' ? EndOfNumbers(text, i) : 0;
    if (end == 0) {
      compact += text[i++];
      continue;
    }
    for (; i < end; ++i) {
      if (!IsOf(" \n", text[i])) {
        compact += text[i];
        compact += text[i] == ',' ? " " : "";
      }
    }
  }
  return compact;
}

}  // namespace ferry::bench
