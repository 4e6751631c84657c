// ParseFlags: reads a command line, as every program of Ferry does.
//
// Thread safety: free function over values.
// Errors: CLI::ParseError, as of CLI::App::parse().
#ifndef FERRY_FLAGS_PARSE_FLAGS_H_
#define FERRY_FLAGS_PARSE_FLAGS_H_

#include <CLI/CLI.hpp>

namespace ferry {

// As app.parse(argc, argv), and refuses "--name=": CLI11 would take the next
// argument for the value, whatever it is. An empty value is an argument of its
// own: --name "".
void ParseFlags(CLI::App& app, int argc, const char* const* argv);

}  // namespace ferry

#endif  // FERRY_FLAGS_PARSE_FLAGS_H_
