// Implements Printable(): one code point at a time.
#include "bench/report/printable.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace ferry::bench {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t size = 0;  // in bytes; 0: it is no UTF-8
};

// Reads the first of `text`. REQUIRES: there is one. Source: the Unicode
// Standard, table 3-7.
CodePoint First(absl::string_view text) {
  const auto byte = [&text](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0U;
  };
  const uint32_t lead = byte(0);
  const size_t size = lead < 0x80                   ? 1
                      : lead >= 0xC2 && lead < 0xE0 ? 2
                      : lead >= 0xE0 && lead < 0xF0 ? 3
                      : lead >= 0xF0 && lead < 0xF5 ? 4
                                                    : 0;
  uint32_t value = size < 2 ? lead : lead & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool is_wrong = (size == 3 && value < 0x800) ||
                        (size == 4 && (value < 0x10000 || value > 0x10FFFF)) ||
                        (value >= 0xD800 && value < 0xE000);
  return is_wrong ? CodePoint() : CodePoint{value, size};
}

// Whether it controls a terminal, ends a line or turns the direction of text.
bool Controls(uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x061C ||
         (value >= 0x200E && value <= 0x200F) ||
         (value >= 0x2028 && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

std::string Escaped(uint32_t value) {
  switch (value) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return value < 0x80 ? absl::StrFormat("\\x%02x", value)
                          : absl::StrFormat("\\u%04x", value);
  }
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const CodePoint first = First(text);
    const size_t size = first.size == 0 ? 1 : first.size;
    if (first.size == 0) {
      printable += absl::StrFormat("\\x%02x", static_cast<uint8_t>(text[0]));
    } else if (Controls(first.value)) {
      printable += Escaped(first.value);
    } else {
      printable.append(text.data(), size);
    }
    text.remove_prefix(size);
  }
  return printable;
}

}  // namespace ferry::bench
