// Implements ParseFlags(): refuses flags without values, calls CLI11, and says
// of what that could not place what it is.
#include "flags/parse_flags.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "flags/help_text.h"
#include "flags/suggestion.h"

namespace ferry {
namespace {

// Refuses what CLI11 would misread. Errors: CLI::ArgumentMismatch.
void CheckArguments(int argc, const char* const* argv,
                    absl::Span<const ForeignFlag> foreign) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--") {
      return;
    }
    if (absl::StartsWith(argument, "--") &&
        argument.find('=') == argument.size() - 1) {
      throw CLI::ArgumentMismatch(
          absl::StrCat("expected a value after ", argument, ", got none"));
    }
    for (const ForeignFlag& flag : foreign) {
      if (argument.substr(0, argument.find('=')) == flag.name) {
        throw CLI::ArgumentMismatch(absl::StrCat(
            flag.name, " is a flag of ", flag.program, ": ", flag.advice));
      }
    }
  }
}

// Whether the app has the flag, and shows it.
bool HasFlag(const CLI::App& app, const std::string& flag) {
  const CLI::Option* const option = app.get_option_no_throw(flag);
  return option != nullptr && !option->get_group().empty();
}

std::vector<const CLI::App*> AllCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* /*command*/) { return true; });
}

// Returns the commands of the app that have the flag: "'search', 'tune'".
std::string CommandsWith(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> found;
  for (const CLI::App* const command : AllCommands(app)) {
    if (HasFlag(*command, flag)) {
      found.push_back(absl::StrCat("'", command->get_name(), "'"));
    }
  }
  return absl::StrJoin(found, ", ");
}

std::string DescribeUnknown(const CLI::App& app, const std::string& flag) {
  std::vector<std::string> names = FlagNames(app);
  for (const CLI::App* const command : app.get_subcommands()) {
    if (HasFlag(*command, flag)) {
      return absl::StrCat("expected ", flag, " behind the command '",
                          command->get_name(), "', found it before");
    }
    const std::vector<std::string> own = FlagNames(*command);
    names.insert(names.end(), own.begin(), own.end());
  }
  std::string hint = Suggestion(flag, names);
  if (const std::string others = CommandsWith(app, flag);
      hint.empty() && !others.empty()) {
    hint = absl::StrCat("; it is one of ", others);
  }
  return absl::StrCat("unknown flag ", flag, hint);
}

// Says what CLI11 could not place; "" where it placed all.
std::string DescribeRest(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  for (const std::string& word : rest) {  // a flag's value may be before it
    if (word.size() > 1 && word[0] == '-' && word != "--") {
      return DescribeUnknown(app, word.substr(0, word.find('=')));
    }
  }
  const bool lacks_command =
      app.get_subcommands().empty() && app.get_require_subcommand_min() > 0;
  if (lacks_command) {
    std::vector<std::string> names;
    for (const CLI::App* const command : AllCommands(app)) {
      names.push_back(command->get_name());
    }
    const std::string all = absl::StrJoin(names, ", ");
    if (rest.empty()) {
      return absl::StrCat("expected a command, got none; there are ", all);
    }
    const std::string near = Suggestion(rest[0], names);
    return absl::StrCat("expected a command, got '", rest[0], "'",
                        near.empty() ? "; there are " + all : near);
  }
  return rest.empty() ? ""
                      : absl::StrCat("expected a flag, got '", rest[0], "'");
}

// Says what is required and was not given, or not as often; "": nothing.
std::string DescribeLack(const CLI::App& app) {
  for (const CLI::Option* const option : app.get_options()) {
    const int least = std::max(option->get_items_expected_min(), 1);
    const auto count = static_cast<int>(option->count());
    if (option->get_required() && count < least) {
      return absl::StrCat("expected ",
                          !option->get_positional() ? option->get_name()
                          : least == 1              ? option->get_type_name()
                                       : absl::StrCat(least, " or more of ",
                                                      option->get_type_name()),
                          " (", option->get_description(), "), got ",
                          count == 0 ? "none" : absl::StrCat(count));
    }
  }
  for (const CLI::App* const command : app.get_subcommands()) {
    if (std::string lack = DescribeLack(*command); !lack.empty()) {
      return lack;
    }
  }
  return "";
}

// Whether CLI11 found less than it needs.
bool IsOfALack(const CLI::ParseError& error) {
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  return code == CLI::ExitCodes::RequiredError ||
         code == CLI::ExitCodes::ArgumentMismatch;
}

}  // namespace

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (!option->get_group().empty()) {  // it is shown
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

void ParseFlags(CLI::App& app, int argc, const char* const* argv,
                absl::Span<const ForeignFlag> foreign) {
  UseHelpText(app);
  CheckArguments(argc, argv, foreign);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;  // help, or the version
  } catch (const CLI::ConfigError&) {
    throw;  // it is of a file
  } catch (const CLI::ParseError& error) {
    const std::string text = error.what();
    if (const size_t more = text.find(": At Most 1 required ");
        more != std::string::npos) {
      throw CLI::ArgumentMismatch(absl::StrCat(
          "expected ", text.substr(0, more), " once, found it again"));
    }
    if (const size_t lacks = text.find(": 1 required ");  // a type, "missing"
        lacks != std::string::npos) {
      throw CLI::ArgumentMismatch(absl::StrCat(
          "expected a value after ", text.substr(0, lacks), ", got none"));
    }
    if (const std::string rest = DescribeRest(app); !rest.empty()) {
      throw CLI::ArgumentMismatch(rest);
    }
    if (const std::string lack = DescribeLack(app);
        IsOfALack(error) && !lack.empty()) {
      throw CLI::ArgumentMismatch(lack);
    }
    throw;
  }
}

std::string SeeHelp(const CLI::ParseError& error) {
  return absl::StrCat(error.what(), " (see --help)");
}

int EndOfParsing(const char* program, const CLI::App& app,
                 const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    return app.exit(error);
  }
  std::fprintf(stderr, "%s: %s\n", program, SeeHelp(error).c_str());
  return 1;
}

}  // namespace ferry
