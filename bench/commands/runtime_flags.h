// AddRuntimeFlags() adds the flags of commands that turn the runtime options of
// a running server.
//
// Thread safety: plain values.
#ifndef FERRY_BENCH_COMMANDS_RUNTIME_FLAGS_H_
#define FERRY_BENCH_COMMANDS_RUNTIME_FLAGS_H_

#include "bench/report/runtime_grid.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

// What a choice that is left empty stands for, in words for --help.
struct RuntimeDefaults {
  const char* policies;
  const char* max_batch_sizes;
  const char* max_waits_ms;
};

// Adds --policies, --max-batch-sizes and --max-waits-ms to `command`; its
// parsing fills `choices`, which outlives it.
void AddRuntimeFlags(CLI::App& command, const RuntimeDefaults& defaults,
                     RuntimeChoices& choices);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_RUNTIME_FLAGS_H_
