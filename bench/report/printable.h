// Printable() makes text of strangers safe to print: names within models,
// files and messages may hold what moves a terminal's cursor or forges a line.
//
// Thread safety: free function over values.
#ifndef FERRY_BENCH_REPORT_PRINTABLE_H_
#define FERRY_BENCH_REPORT_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ferry::bench {

// Returns the text in one line: control characters (C0, DEL, C1), separators of
// lines and paragraphs, and what turns the direction of text are written as
// \n, \r, \t, \x1b or \u202e; bytes that are no UTF-8 as \xff. All else is as
// it was, a backslash too.
std::string Printable(absl::string_view text);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_PRINTABLE_H_
