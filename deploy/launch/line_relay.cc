// Implements LineRelay: cuts bytes at line ends.
#include "deploy/launch/line_relay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace ferry::launch {
namespace {

constexpr size_t kMaxPrinted = 4 * LineRelay::kMaxLine;  // each byte as \xNN

}  // namespace

std::string LineRelay::Take(absl::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const bool is_whole = end != absl::string_view::npos;
    const size_t size =
        std::min(is_whole ? end : bytes.size(), kMaxLine - rest_.size());
    absl::StrAppend(&rest_, bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (is_whole && size == end) {
      bytes.remove_prefix(1);
      absl::StrAppend(&lines, EndLine());
    } else if (rest_.size() == kMaxLine) {
      absl::StrAppend(&lines, TakeRest());
    }
  }
  return lines;
}

std::string LineRelay::TakeRest() {
  if (rest_.empty()) {
    return "";
  }
  return EndLine();
}

std::string LineRelay::EndLine() {
  last_line_ = PrintableText(std::exchange(rest_, ""), kMaxPrinted);
  return absl::StrCat(prefix_, last_line_, "\n");
}

}  // namespace ferry::launch
