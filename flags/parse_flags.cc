// Implements ParseFlags(): refuses flags without values, then calls CLI11.
#include "flags/parse_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ferry {

void ParseFlags(CLI::App& app, int argc, const char* const* argv,
                absl::Span<const FormerFlag> former) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--") {
      break;
    }
    if (absl::StartsWith(argument, "--") &&
        argument.find('=') == argument.size() - 1) {
      throw CLI::ArgumentMismatch(
          absl::StrCat("expected a value after ", argument, ", got none"));
    }
    for (const FormerFlag& flag : former) {
      if (argument.substr(0, argument.find('=')) == flag.name) {
        throw CLI::ArgumentMismatch(absl::StrCat(
            flag.name, " is a flag of an earlier version: ", flag.advice));
      }
    }
  }
  app.parse(argc, argv);
}

}  // namespace ferry
