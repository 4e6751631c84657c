// Implements `ferryctl drain`: has a running server drain, and waits for its
// end.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/client/admin_client.h"
#include "deploy/ctl/commands.h"
#include "deploy/ctl/drain_watch.h"
#include "deploy/ctl/server_answers.h"
#include "deploy/ctl/server_flags.h"

namespace ferry::ctl {
namespace {

// Tells of what is seen while it goes on; the answer comes at the end.
void Tell(const std::string& address, const char* what) {
  std::fprintf(stderr, "ferryctl: %s %s\n", address.c_str(), what);
}

absl::StatusOr<Answer> Ask(const ServerFlags& flags) {
  const auto connection = ReadConnection(flags);
  if (!connection.ok()) {
    return connection.status();
  }
  const TimePoint until = Clock::Steady().Now() + flags.timeout();
  const std::string& address = flags.addresses.front();
  const auto drain = [&] {
    const bench::AdminClient admin(address, *connection,
                                   until - Clock::Steady().Now());
    absl::Status status = admin.Drain();
    if (status.ok()) {
      Tell(address, "was told to drain");
    }
    return status;
  };
  const auto tell = [&] {
    Tell(address, "is not ready any more, and answers what it has");
  };
  const auto end = DrainServer(address, *connection, until, drain, tell);
  if (!end.ok()) {
    return OfCall(end.status(), flags);
  }
  return DrainAnswer(address, *end, flags.timeout_s);
}

}  // namespace

void AddDrainCommand(CLI::App& app, Invocation& invocation) {
  const auto flags = std::make_shared<ServerFlags>();
  flags->timeout_s = 60;
  CLI::App& command = *app.add_subcommand(
      "drain", "have a running server answer what it has, and end");
  AddCallFlags(command, *flags);
  command.callback([flags, &invocation] {
    invocation.ask = [flags] { return Ask(*flags); };
  });
}

}  // namespace ferry::ctl
