// Looking for flags without their values, then CLI11.
#include "flags/parse_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ferry {

void ParseFlags(CLI::App& app, int argc, const char* const* argv) {
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
  }
  app.parse(argc, argv);
}

}  // namespace ferry
