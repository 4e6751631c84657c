// ParseFlags() reads a command line, as every program of Ferry does.
//
// Thread safety: free function over values.
// Errors: CLI::ParseError, as of CLI::App::parse().
#ifndef FERRY_FLAGS_PARSE_FLAGS_H_
#define FERRY_FLAGS_PARSE_FLAGS_H_

#include <CLI/CLI.hpp>

#include "absl/types/span.h"

namespace ferry {

// A flag of an earlier version: "--slots", and what to write in its place.
struct FormerFlag {
  const char* name;
  const char* advice;
};

// Does what app.parse(argc, argv) does, and refuses "--name=": CLI11 would take
// the next argument for the value, whatever it is. An empty value is an
// argument of its own: --name "". A former flag is refused with its advice.
void ParseFlags(CLI::App& app, int argc, const char* const* argv,
                absl::Span<const FormerFlag> former = {});

}  // namespace ferry

#endif  // FERRY_FLAGS_PARSE_FLAGS_H_
