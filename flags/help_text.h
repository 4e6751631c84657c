// UseHelpText() makes --help of a program readable: names and types on the
// left, what a flag does on the right, wrapped for the terminal, and behind
// that, in brackets, the range, the default and what it goes with.
//
// Thread safety: free function.
#ifndef FERRY_FLAGS_HELP_TEXT_H_
#define FERRY_FLAGS_HELP_TEXT_H_

#include <CLI/CLI.hpp>

namespace ferry {

// For the app, its subcommands and theirs, all of which are added.
void UseHelpText(CLI::App& app);

}  // namespace ferry

#endif  // FERRY_FLAGS_HELP_TEXT_H_
