// The flags of commands that turn the knobs of a running server.
//
// Thread safety: plain values.
#ifndef FERRY_BENCH_COMMANDS_KNOB_FLAGS_H_
#define FERRY_BENCH_COMMANDS_KNOB_FLAGS_H_

#include "bench/report/knob_grid.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

// What a choice that is left empty stands for, in words for --help.
struct KnobDefaults {
  const char* policies;
  const char* max_batch_sizes;
  const char* max_waits_ms;
};

// Adds --policies, --max-batch-sizes and --max-waits-ms to `command`; its
// parsing fills `choices`, which outlives it.
void AddKnobFlags(CLI::App& command, const KnobDefaults& defaults,
                  KnobChoices& choices);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_KNOB_FLAGS_H_
