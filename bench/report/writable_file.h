// WritableFile() checks flags that name a file for results, so that a wrong one
// is refused before anything is measured.
//
// Thread safety: free function over values.
#ifndef FERRY_BENCH_REPORT_WRITABLE_FILE_H_
#define FERRY_BENCH_REPORT_WRITABLE_FILE_H_

#include <CLI/CLI.hpp>

namespace ferry::bench {

// Returns a check that a file of the flag's name can be written now: it may be
// there, but is no folder. Makes none.
CLI::Validator WritableFile();

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_WRITABLE_FILE_H_
