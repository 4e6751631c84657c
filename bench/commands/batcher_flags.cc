// Implements AddBatcherFlags(): adds the flags of a scheduler and of a device.
#include "bench/commands/batcher_flags.h"

#include <CLI/CLI.hpp>

#include "batcher/batch_policy.h"
#include "flags/value_checks.h"

namespace ferry::bench {

void AddBatcherFlags(CLI::App& command, BatcherFlags& flags,
                     SchedulerOptions& scheduler) {
  command.option_defaults()->group("Batcher and device");
  command.add_option("--policy", flags.policy, "of the batcher")
      ->check(OneOf({"eager", "window", "adaptive"}))
      ->capture_default_str();
  command.add_option("--max-wait-ms", flags.max_wait_ms, "bound of the wait")
      ->check(NumberFrom(0.0, 1e6))
      ->capture_default_str();
  command
      .add_option("--max-batch-size", scheduler.max_batch_size,
                  "rows of a batch at most")
      ->check(IntegerFrom(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--queue-requests", scheduler.queue.requests,
                  "requests that the batcher queues at most")
      ->check(IntegerFrom(1, 1 << 24))
      ->capture_default_str();
  command
      .add_option("--alpha-ms", flags.alpha_ms,
                  "time of a batch of b rows on the device: alpha + beta * b")
      ->check(NumberFrom(0.0, 1e6))
      ->capture_default_str();
  command.add_option("--beta-ms", flags.beta_ms, "the time of each row")
      ->check(NumberFrom(0.0, 1e6))
      ->capture_default_str();
}

void ReadBatcherFlags(const BatcherFlags& flags, SchedulerOptions& scheduler) {
  scheduler.policy = *ParsePolicy(flags.policy);
  scheduler.max_wait = Milliseconds(flags.max_wait_ms);
}

}  // namespace ferry::bench
