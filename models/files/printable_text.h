// PrintableText makes texts of files and clients fit for messages and logs.
//
// Thread safety: free functions over values.
#ifndef FERRY_MODELS_FILES_PRINTABLE_TEXT_H_
#define FERRY_MODELS_FILES_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ferry {

// Whether the text is UTF-8: without surrogates, what is past U+10FFFF, and
// longer forms than needed.
bool IsUtf8(absl::string_view text);

// Returns the text in UTF-8 without control characters but those of `kept`:
// what is neither stands as "\xNN", and what comes after `max_bytes` as "...".
std::string PrintableText(absl::string_view text, size_t max_bytes,
                          absl::string_view kept = "");

}  // namespace ferry

#endif  // FERRY_MODELS_FILES_PRINTABLE_TEXT_H_
