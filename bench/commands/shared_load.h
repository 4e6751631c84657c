// What --processes adds to a command: its loads sent by this process or by
// several, and the whole life of each of those.
//
// Thread safety: free functions, from the main thread.
#ifndef FERRY_BENCH_COMMANDS_SHARED_LOAD_H_
#define FERRY_BENCH_COMMANDS_SHARED_LOAD_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "bench/commands/commands.h"
#include "bench/commands/run_options.h"
#include "bench/load/load_source.h"
#include "bench/load/target.h"

namespace ferry::bench {

// Returns who sends. `target`, null where this process does not send, outlives
// it. Errors: those of a process that cannot.
absl::StatusOr<std::unique_ptr<LoadSource>> MakeLoads(
    const RunOptions& options, Target* target, const Invocation& invocation);

// Sends this process's share of each load, to what `connect` makes and keeps,
// until there are no more. Returns the exit code. REQUIRES: as_process >= 0.
int ShareLoads(const RunOptions& options,
               const std::function<absl::StatusOr<Target*>()>& connect);

// The same, to the server of the options.
int ShareLoads(const RunOptions& options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SHARED_LOAD_H_
