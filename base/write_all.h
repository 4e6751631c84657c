// WriteAll writes a whole text to a descriptor.
#ifndef FERRY_BASE_WRITE_ALL_H_
#define FERRY_BASE_WRITE_ALL_H_

#include "absl/strings/string_view.h"

namespace ferry {

// Writes all bytes, and goes on after a signal. Waits for room without end,
// also where another process has made the descriptor non-blocking. Returns 0,
// or the errno of the write() that failed: part of the text may be written
// then.
int WriteAll(int descriptor, absl::string_view text);

}  // namespace ferry

#endif  // FERRY_BASE_WRITE_ALL_H_
