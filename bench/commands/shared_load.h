// MakeLoads() and ShareLoads() implement --processes: this process or several
// send the loads of a command, and ShareLoads() is the whole life of a worker.
//
// Thread safety: free functions, from the main thread.
#ifndef FERRY_BENCH_COMMANDS_SHARED_LOAD_H_
#define FERRY_BENCH_COMMANDS_SHARED_LOAD_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "bench/commands/commands.h"
#include "bench/commands/measured_server.h"
#include "bench/commands/run_options.h"
#include "bench/commands/search_flags.h"
#include "bench/load/load_source.h"
#include "bench/load/target.h"

namespace ferry::bench {

// Returns the sender. `target`, null where this process does not send, outlives
// it. Errors: those of a process that cannot.
absl::StatusOr<std::unique_ptr<LoadSource>> MakeLoads(
    const RunOptions& options, Target* target, const Invocation& invocation);

// Returns the server as what a search is of, by this process or several. All
// outlive it.
Searched SearchedAt(MeasuredServer& server, const SearchFlags& flags,
                    const Invocation& invocation);

// Sends this process's share of each load, to what `connect` makes and keeps,
// until there are no more. Returns the exit code. REQUIRES: as_process >= 0.
int ShareLoads(const RunOptions& options,
               const std::function<absl::StatusOr<Target*>()>& connect);

// The same, to the server of the options.
int ShareLoads(const RunOptions& options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SHARED_LOAD_H_
