// AddBatcherFlags() adds the flags of commands that run Ferry's batcher on a
// simulated device in this process.
//
// Thread safety: plain values; functions of their arguments.
#ifndef FERRY_BENCH_COMMANDS_BATCHER_FLAGS_H_
#define FERRY_BENCH_COMMANDS_BATCHER_FLAGS_H_

#include <string>

#include "batcher/scheduler.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

// The flags that take a step between the text and the options.
struct BatcherFlags {
  std::string policy = "eager";
  double max_wait_ms = 5;
  double alpha_ms = 1;  // s(b) = alpha + beta * b
  double beta_ms = 0.1;
};

// Adds --policy, --max-wait-ms, --max-batch-size, --queue-requests, --alpha-ms
// and --beta-ms to `command`; its parsing fills `flags` and `scheduler`, which
// outlive it.
void AddBatcherFlags(CLI::App& command, BatcherFlags& flags,
                     SchedulerOptions& scheduler);

// Sets the policy and the wait of `scheduler`.
void ReadBatcherFlags(const BatcherFlags& flags, SchedulerOptions& scheduler);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_BATCHER_FLAGS_H_
