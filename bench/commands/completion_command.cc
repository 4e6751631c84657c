// Implements `ferry-bench completion`: prints a shell's completion script.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/commands/commands.h"
#include "bench/commands/completion.h"

namespace ferry::bench {
namespace {

int PrintCompletion(CLI::App& app, const std::string& shell) {
  CompletedCommand program = DescribeCommands(app);
  program.name = "ferry-bench";
  const std::string script = shell == "bash"  ? BashCompletion(program)
                             : shell == "zsh" ? ZshCompletion(program)
                                              : FishCompletion(program);
  std::fputs(script.c_str(), stdout);
  return 0;
}

}  // namespace

void AddCompletionCommand(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand(
      "completion",
      "print a script that makes a shell complete this program's flags");
  command->add_option("shell", *shell, "the shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, shell, &invocation] {
    invocation.chosen = [&app, shell] { return PrintCompletion(app, *shell); };
  });
}

}  // namespace ferry::bench
