// ParseFlags() reads a command line, as every program of Ferry does.
//
// Thread safety: free functions over values.
// Errors: CLI::ParseError, as of CLI::App::parse().
#ifndef FERRY_FLAGS_PARSE_FLAGS_H_
#define FERRY_FLAGS_PARSE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace ferry {

// A flag that a program does not have, but another one: "--log-verbose" of
// "tritonserver", and what to write in its place.
struct ForeignFlag {
  const char* name;
  const char* program;  // "an earlier version"
  const char* advice;
};

// Does what app.parse(argc, argv) does, with --help as UseHelpText() has it,
// and refuses "--name=": CLI11 would take the next argument for the value,
// whatever it is. An empty value is an argument of its own: --name "". A
// foreign flag is refused with its advice, an unknown one with the names that
// are near.
void ParseFlags(CLI::App& app, int argc, const char* const* argv,
                absl::Span<const ForeignFlag> foreign = {});

// Returns the long flags of an app, with their dashes.
std::vector<std::string> FlagNames(const CLI::App& app);

// Prints what ended the parsing: help and version on stdout, else one line on
// stderr that begins with the program's name. Returns the exit code, 0 or 1.
int EndOfParsing(const char* program, const CLI::App& app,
                 const CLI::ParseError& error);

// Returns "what (see --help)", as all programs end what they say of flags.
std::string SeeHelp(const CLI::ParseError& error);

}  // namespace ferry

#endif  // FERRY_FLAGS_PARSE_FLAGS_H_
