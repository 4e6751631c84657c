// Implements ShareLoads(): workers are this command again, with --as-process.
#include "bench/commands/shared_load.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/commands/command_report.h"
#include "bench/commands/measured_server.h"
#include "bench/processes/load_worker.h"
#include "bench/processes/process_loads.h"

namespace ferry::bench {
namespace {

// To be ready in, beyond the wait for the server.
constexpr Duration kReadyLimit = std::chrono::seconds(120);

absl::Status Serve(const RunOptions& options, MessageChannel& channel,
                   const std::function<absl::StatusOr<Target*>()>& connect) {
  const auto target = connect();
  if (!target.ok()) {
    return RefuseLoads(channel, target.status());
  }
  return ServeLoads(channel, **target, options.sweep.arrivals,
                    {.index = static_cast<uint64_t>(options.as_process),
                     .count = static_cast<uint64_t>(options.processes)});
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoadSource>> MakeLoads(
    const RunOptions& options, Target* target, const Invocation& invocation) {
  if (options.processes == 1) {
    return std::make_unique<OwnLoads>(*target, options.sweep.arrivals);
  }
  std::vector<std::vector<std::string>> arguments;
  for (int32_t i = 0; i < options.processes; ++i) {
    arguments.push_back(invocation.arguments);
    arguments.back().push_back(absl::StrCat("--as-process=", i));
  }
  return ProcessLoads::Start(
      arguments, kReadyLimit + Milliseconds(options.wait_ready_s * 1e3));
}

Searched SearchedAt(MeasuredServer& server, const SearchFlags& flags,
                    const Invocation& invocation) {
  return {.make_loads =
              [&server, &flags, &invocation] {
                return MakeLoads(flags.run,
                                 flags.run.sends() ? &server.target() : nullptr,
                                 invocation);
              },
          .counters = &server.probe(),
          .instances = server.instances()};
}

int ShareLoads(const RunOptions& options,
               const std::function<absl::StatusOr<Target*>()>& connect) {
  if (options.as_process >= options.processes) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("--as-process: expected one below ", options.processes,
                     ", got ", options.as_process)));
  }
  const auto channel = ChannelToParent();
  if (!channel.ok()) {
    return Fail(channel.status());
  }
  const absl::Status shared = Serve(options, **channel, connect);
  return shared.ok() ? 0 : Fail(shared);
}

int ShareLoads(const RunOptions& options) {
  std::unique_ptr<MeasuredServer> server;
  return ShareLoads(options, [&]() -> absl::StatusOr<Target*> {
    auto connected = MeasuredServer::Connect(options);
    if (!connected.ok()) {
      return connected.status();
    }
    server = *std::move(connected);
    return &server->target();
  });
}

}  // namespace ferry::bench
