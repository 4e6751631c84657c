// AddResultFile() adds a flag that names a file for results, and refuses a
// wrong one before anything is measured.
//
// Thread safety: free function over values.
#ifndef FERRY_BENCH_REPORT_WRITABLE_FILE_H_
#define FERRY_BENCH_REPORT_WRITABLE_FILE_H_

#include <CLI/CLI.hpp>
#include <string>

namespace ferry::bench {

// Returns a check that a file of the flag's name can be written now: it may be
// there, but is no folder. Makes none.
CLI::Validator WritableFile();

// Adds the flag `name` with that check; parsing fills `path`, which outlives
// `command`.
void AddResultFile(CLI::App& command, const char* name, std::string& path,
                   const char* help);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_WRITABLE_FILE_H_
