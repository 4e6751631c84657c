// Implements `ferryctl health`: a probe, whose exit code says whether servers
// are ready, or live.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/printable_text.h"
#include "deploy/ctl/ask_each.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/server_answers.h"
#include "deploy/ctl/server_flags.h"

namespace ferry::ctl {
namespace {

constexpr int kGood = 200;
constexpr int kBad = 503;

struct HealthFlags {
  ServerFlags server;
  bool is_live_wanted = false;
};

// Returns the reason in the body of a page of health: "no: missing=m".
std::string ReasonIn(absl::string_view body) {
  absl::ConsumePrefix(&body, "no");
  absl::ConsumePrefix(&body, ":");
  return PrintableText(absl::StripAsciiWhitespace(body));
}

Health AskHealth(const HttpSource& source, const std::string& wanted,
                 Duration timeout) {
  Health health = {.address = source.address};
  const auto page =
      GetPage(source, absl::StrCat("/v2/health/", wanted), {}, timeout);
  if (!page.ok()) {
    health.failure = page.status();
  } else if (page->code == kGood) {
    health.is_good = true;
  } else if (page->code == kBad) {
    health.reason = ReasonIn(page->body);
  } else {
    health.failure = absl::FailedPreconditionError(absl::StrCat(
        source.url(), ": expected /v2/health/", wanted,
        " of a ferry-server's metrics port, got HTTP code ", page->code));
  }
  return health;
}

absl::StatusOr<Answer> Ask(const HealthFlags& flags) {
  const auto sources = ReadSources(flags.server);
  if (!sources.ok()) {
    return sources.status();
  }
  const std::string wanted = flags.is_live_wanted ? "live" : "ready";
  const auto servers = AskEach(*sources, [&](const HttpSource& source) {
    return AskHealth(source, wanted, flags.server.timeout());
  });
  if (absl::Status status = FailureOfOne(servers); !status.ok()) {
    return status;
  }
  return HealthAnswer(wanted, servers);
}

}  // namespace

void AddHealthCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<HealthFlags>();
  CLI::App& command = *app.add_subcommand(
      "health", "say whether running servers are ready; a probe");
  AddPageFlags(command, flags->server);
  command.add_flag("--live", flags->is_live_wanted,
                   "whether they are live, as one that drains is");
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
