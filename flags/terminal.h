// TerminalColumns() and Wrapped() fit text to the terminal that it goes to.
//
// Thread safety: free functions.
#ifndef FERRY_FLAGS_TERMINAL_H_
#define FERRY_FLAGS_TERMINAL_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace ferry {

// Returns how many columns stdout has: those of COLUMNS where that is set, else
// of the terminal; 0 where it is none, as a pipe: nothing is wrapped there.
size_t TerminalColumns();

// Returns the text in lines of `columns` at most, broken at spaces; all but the
// first begin with `indent` spaces. 0: as it is. A word longer than that keeps
// its line. The first line has `used` columns less.
std::string Wrapped(absl::string_view text, size_t columns, size_t indent,
                    size_t used = 0);

}  // namespace ferry

#endif  // FERRY_FLAGS_TERMINAL_H_
