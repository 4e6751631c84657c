// CompactNumbers() leaves JSON in lines that a person can read, but puts each
// array of numbers, or of such arrays, on one line: a histogram has thousands.
//
// Thread safety: a free function over values.
#ifndef FERRY_BENCH_REPORT_COMPACT_JSON_H_
#define FERRY_BENCH_REPORT_COMPACT_JSON_H_

#include <string>

namespace ferry::bench {

// `text` is JSON, indented or not; it stays the same document.
std::string CompactNumbers(const std::string& text);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_COMPACT_JSON_H_
