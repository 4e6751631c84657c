// PrintableText makes texts of files and clients fit for messages, logs and
// terminals.
//
// Thread safety: free functions over values.
#ifndef FERRY_BASE_PRINTABLE_TEXT_H_
#define FERRY_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ferry {

// Whether the text is UTF-8: without surrogates, what is past U+10FFFF, and
// longer forms than needed.
bool IsUtf8(absl::string_view text);

// Returns the text in UTF-8 without what acts on a terminal, or on how other
// text is read, but for the bytes of `kept`: control characters (C0, C1, DEL),
// ends of lines and paragraphs, characters that turn the direction of the text,
// and invisible ones. Such characters, and bytes that are no UTF-8, stand as
// "\xNN" a byte, and what comes after `max_bytes` as "...".
std::string PrintableText(absl::string_view text,
                          size_t max_bytes = absl::string_view::npos,
                          absl::string_view kept = "");

}  // namespace ferry

#endif  // FERRY_BASE_PRINTABLE_TEXT_H_
