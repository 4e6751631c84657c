// Implements `ferry-bench search`: finds the highest rate at which a server
// keeps a bound.
#include <CLI/CLI.hpp>
#include <memory>

#include "bench/commands/command_report.h"
#include "bench/commands/commands.h"
#include "bench/commands/measured_loads.h"
#include "bench/commands/measured_server.h"
#include "bench/commands/search_flags.h"
#include "bench/commands/shared_load.h"

namespace ferry::bench {
namespace {

int Search(SearchFlags flags, const Invocation& invocation) {
  if (const auto status = Complete(flags); !status.ok()) {
    return Fail(status);
  }
  if (flags.run.as_process >= 0) {
    return ShareLoads(flags.run);  // one of those that --processes starts
  }
  const auto connected = MeasuredServer::Connect(flags.run);
  if (!connected.ok()) {
    return Fail(connected.status());
  }
  MeasuredServer& server = **connected;
  return ReportSearch(flags, SearchedAt(server, flags, invocation),
                      server.Describe(invocation.command_line));
}

}  // namespace

void AddSearchCommand(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<SearchFlags>();
  CLI::App* const command = app.add_subcommand(
      "search", "find the highest rate at which a server keeps a bound");
  AddSearchFlags(*command, *flags);
  command->callback([command, flags, &invocation] {
    flags->run.flags = EffectiveFlags(*command);
    invocation.chosen = [flags, &invocation] {
      return Search(*flags, invocation);
    };
  });
}

}  // namespace ferry::bench
