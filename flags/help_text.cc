// Implements UseHelpText(): a formatter of CLI11 whose right column wraps.
#include "flags/help_text.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "flags/terminal.h"

namespace ferry {
namespace {

constexpr size_t kLeft = 28;  // columns of names and types

// A type as CLI11 has it, "N:1 to 64", in two parts.
struct Type {
  std::string name;   // "N"
  std::string range;  // "1 to 64"; empty: any
};

Type TypeOf(const CLI::Option& option) {  // value_checks.h has both checks
  const std::string told = option.get_type_name();
  const size_t colon = told.rfind(':');
  if (colon == std::string::npos) {
    return {told, ""};
  }
  const std::string name = told.substr(0, colon);
  const std::string check = told.substr(colon + 1);
  if ((name == "TEXT" || name == "BOOLEAN") && absl::StrContains(check, '|')) {
    return {check, ""};
  }
  if (absl::StrContains(check, " to ")) {
    return {name, check};
  }
  return {told, ""};
}

std::string NamesOf(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;  // in their order
  for (const CLI::Option* const option : options) {
    names.insert(option->get_name());
  }
  return absl::StrJoin(names, ", ");
}

class HelpText final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override {
    return Entry(absl::StrCat(make_option_name(option, is_positional),
                              make_option_opts(option)),
                 make_option_desc(option));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) {
      return "";
    }
    return absl::StrCat(
        " ", TypeOf(*option).name,
        option->get_expected_max() == CLI::detail::expected_max_vector_size
            ? " ..."
            : "");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::vector<std::string> facts;
    const auto add = [&facts](const char* what, const std::string& fact) {
      if (!fact.empty()) {
        facts.push_back(absl::StrCat(what, fact));
      }
    };
    add("", option->get_required() ? "required" : "");
    add("", TypeOf(*option).range);
    add("default ", option->get_default_str());
    add("with ", NamesOf(option->get_needs()));
    add("not with ", NamesOf(option->get_excludes()));
    return facts.empty() ? option->get_description()
                         : absl::StrCat(option->get_description(), " [",
                                        absl::StrJoin(facts, "; "), "]");
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Entry(command->get_display_name(true), command->get_description());
  }

  std::string make_description(const CLI::App* app) const override {
    const std::string text = CLI::Formatter::make_description(app);
    return absl::StrCat(
        Wrapped(absl::StripSuffix(text, "\n"), TerminalColumns(), 0), "\n");
  }

 private:
  static std::string Entry(const std::string& left, const std::string& right) {
    std::string text = absl::StrCat("  ", left);
    if (text.size() + 2 > kLeft) {
      text += '\n';
      text.append(kLeft, ' ');
    } else {
      text.resize(kLeft, ' ');
    }
    return absl::StrCat(text, Wrapped(right, TerminalColumns(), kLeft, kLeft),
                        "\n");
  }
};

}  // namespace

void UseHelpText(CLI::App& app) {
  app.formatter(std::make_shared<HelpText>());
  for (CLI::App* const command :
       app.get_subcommands([](const CLI::App* /*command*/) { return true; })) {
    UseHelpText(*command);
  }
}

}  // namespace ferry
