// Implements `ferryctl status` and `ferryctl top`: from the pages of running
// servers to one page, once or each second.
#include <CLI/CLI.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "deploy/ctl/ask_each.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/server_answers.h"
#include "deploy/ctl/server_flags.h"
#include "deploy/ctl/server_look.h"
#include "deploy/ctl/terminal_screen.h"

namespace ferry::ctl {
namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr Duration kKeyPeriod = std::chrono::milliseconds(20);

absl::StatusOr<Answer> AskStatus(const ServerFlags& flags) {
  const auto servers = ReadSources(flags);
  if (!servers.ok()) {
    return servers.status();
  }
  const auto looks = LookAt(*servers, flags.timeout());
  if (absl::Status status = FailureOfOne(looks); !status.ok()) {
    return status;
  }
  return StatusAnswer(looks);
}

// Shows the status each second until it is to end; returns the last one, which
// stays where the screen was. A look that waits for servers keeps no key
// waiting: it ends after the screen is given back.
absl::StatusOr<Answer> AskTop(const ServerFlags& flags) {
  if (!TerminalScreen::IsThere()) {
    return AskStatus(flags);
  }
  const auto servers = ReadSources(flags);
  if (!servers.ok()) {
    return servers.status();
  }
  std::future<std::vector<ServerLook>> look;
  TerminalScreen screen;
  absl::StatusOr<Answer> answer =
      absl::UnavailableError("the end came before an answer");
  for (;;) {
    look = std::async(std::launch::async, [&servers, &flags] {
      return LookAt(*servers, flags.timeout());
    });
    while (look.wait_for(Duration::zero()) != std::future_status::ready) {
      if (screen.WaitForEnd(kKeyPeriod)) {
        return answer;
      }
    }
    const std::vector<ServerLook> looks = look.get();
    if (absl::Status status = FailureOfOne(looks);
        !status.ok() && !absl::IsUnavailable(status)) {
      return status;
    }
    answer = StatusAnswer(looks);
    screen.Show(absl::StrCat("q ends. ", AnswerText(*answer)));
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
