// Implements Wrapped(): a word at a time.
#include "flags/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace ferry {

size_t TerminalColumns() {
  constexpr int kLeastColumns = 20;
  const char* const told = std::getenv("COLUMNS");
  int columns = 0;
  if (told != nullptr && absl::SimpleAtoi(told, &columns) &&
      columns >= kLeastColumns) {
    return static_cast<size_t>(columns);
  }
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
                 size.ws_col >= kLeastColumns
             ? size.ws_col
             : 0;
}

std::string Wrapped(absl::string_view text, size_t columns, size_t indent,
                    size_t used) {
  if (columns == 0) {
    return std::string(text);
  }
  std::string wrapped;
  size_t at = used;
  bool begins_line = true;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!begins_line && at + 1 + word.size() > columns) {
      wrapped += '\n';
      wrapped.append(indent, ' ');
      at = indent;
      begins_line = true;
    }
    if (!begins_line) {
      wrapped += ' ';
      ++at;
    }
    wrapped.append(word.data(), word.size());
    at += word.size();
    begins_line = false;
  }
  return wrapped;
}

}  // namespace ferry
