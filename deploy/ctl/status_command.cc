// Implements `ferryctl status` and `ferryctl top`: from the pages of running
// servers to one page, once or each second.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/server_answers.h"
#include "deploy/ctl/server_flags.h"
#include "deploy/ctl/server_look.h"
#include "deploy/ctl/terminal_screen.h"

namespace ferry::ctl {
namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);

absl::StatusOr<Answer> AskStatus(const ServerFlags& flags) {
  const auto servers = ReadSources(flags);
  if (!servers.ok()) {
    return servers.status();
  }
  const auto looks = LookAt(*servers, flags.timeout());
  if (!looks.ok()) {
    return looks.status();
  }
  if (std::all_of(looks->begin(), looks->end(), [](const ServerLook& look) {
        return !look.silence.empty();
      })) {
    return absl::UnavailableError(looks->front().silence);
  }
  return StatusAnswer(*looks);
}

// Shows the status each second until it is to end; returns the last one, which
// stays where the screen was.
absl::StatusOr<Answer> AskTop(const ServerFlags& flags) {
  if (!TerminalScreen::IsThere()) {
    return AskStatus(flags);
  }
  const auto servers = ReadSources(flags);
  if (!servers.ok()) {
    return servers.status();
  }
  TerminalScreen screen;
  for (;;) {
    const auto looks = LookAt(*servers, flags.timeout());
    if (!looks.ok()) {
      return looks.status();
    }
    const Answer answer = StatusAnswer(*looks);
    screen.Show(absl::StrCat("q ends. ", AnswerText(answer)));
    if (screen.WaitForEnd(kPeriod)) {
      return answer;
    }
  }
}

}  // namespace

void AddStatusCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<ServerFlags>();
  CLI::App& command =
      *app.add_subcommand("status", "say on one page how running servers are");
  AddPageFlags(command, *flags);
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return AskStatus(*flags); };
  });
}

void AddTopCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<ServerFlags>();
  CLI::App& command = *app.add_subcommand(
      "top", "show that page on the terminal, each second; the key q ends it");
  AddPageFlags(command, *flags);
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return AskTop(*flags); };
  });
}

}  // namespace ferry::ctl
