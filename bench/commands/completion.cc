// Implements DescribeCommands(): asks a CLI11 app which flags it takes.
#include "bench/commands/completion.h"

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferry::bench {
namespace {

// The words of "TEXT:{a,b:X}"; none where it has no braces.
std::vector<std::string> WordsOf(const std::string& type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open == std::string::npos ? 0 : open);
  std::vector<std::string> words;
  if (open == std::string::npos || close == std::string::npos) {
    return words;
  }
  for (absl::string_view word :
       absl::StrSplit(type.substr(open + 1, close - open - 1), ',')) {
    const size_t colon = word.find(':');
    words.emplace_back(
        word.substr(0, colon == absl::string_view::npos ? colon : colon + 1));
  }
  return words;
}

CompletedFlag FlagOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  CompletedFlag flag;
  flag.help = option.get_description();
  flag.takes_value = option.get_items_expected_max() > 0;
  flag.takes_files =
      absl::StartsWith(type, "FILE") || absl::StartsWith(type, "PATH");
  flag.is_list = option.get_delimiter() != '\0';
  flag.words = WordsOf(type);
  for (const std::string& name : option.get_snames()) {
    flag.names.push_back(absl::StrCat("-", name));
  }
  for (const std::string& name : option.get_lnames()) {
    flag.names.push_back(absl::StrCat("--", name));
  }
  return flag;
}

}  // namespace

CompletedCommand DescribeCommands(CLI::App& app) {
  CompletedCommand command;
  command.name = app.get_name();
  command.help = app.get_description();
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) {
      continue;  // hidden: for ferry-bench itself
    }
    CompletedFlag flag = FlagOf(*option);
    (flag.names.empty() ? command.arguments : command.flags)
        .push_back(std::move(flag));
  }
  for (CLI::App* subcommand : app.get_subcommands({})) {
    command.commands.push_back(DescribeCommands(*subcommand));
  }
  return command;
}

}  // namespace ferry::bench
