// Implements LineRelay: cuts bytes at line ends.
#include "deploy/launch/line_relay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ferry::launch {

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
      absl::StrAppend(&lines, prefix_, rest_, "\n");
      last_line_ = std::exchange(rest_, "");
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
  std::string line = absl::StrCat(prefix_, rest_, "\n");
  last_line_ = std::exchange(rest_, "");
  return line;
}

}  // namespace ferry::launch
