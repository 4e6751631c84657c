// AddResultFile() and AddResultFolder() add a flag that names a file, or a
// folder of files, for results, and refuse a wrong one before anything is
// measured.
//
// Thread safety: free functions over values.
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

// Returns a check that files can be written into a folder of the flag's name:
// it is missing, and its parent is there, or empty, since files of an earlier
// run would be read with the new ones. Makes none.
CLI::Validator NewFolder();

// Adds the flag `name` with that check; parsing fills `path`, which outlives
// `command`.
void AddResultFolder(CLI::App& command, const char* name, std::string& path,
                     const char* help);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_WRITABLE_FILE_H_
