// Measurement does what `run` does to one server, or to two, turn by turn.
//
// Thread safety: thread-compatible; a signal ends it (SignalWatcher).
// Errors: those of connecting, of the runtime options and of senders; what
// was measured before stands in runs().
#ifndef FERRY_BENCH_COMMANDS_MEASUREMENT_H_
#define FERRY_BENCH_COMMANDS_MEASUREMENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/commands/commands.h"
#include "bench/commands/measured_server.h"
#include "bench/commands/run_options.h"
#include "bench/commands/run_turns.h"
#include "bench/report/run_result.h"
#include "bench/report/runtime_grid.h"

namespace ferry::bench {

class Measurement {
 public:
  // `options` of each server; `invocation` outlives it.
  Measurement(std::vector<RunOptions> options, const Invocation& invocation)
      : options_(std::move(options)), invocation_(invocation) {}

  absl::Status Connect();

  // `settings`: empty where no runtime option is turned; else of the first
  // server, whose own are for the caller to restore.
  absl::Status Run(int32_t repeat, const std::vector<RuntimeSetting>& settings);

  const std::vector<RunResult>& runs() const { return runs_; }

  // Returns DescribeInterruption() where a signal ended it, else "".
  std::string interruption() const;

  // Those of one server, in order.
  std::vector<RunResult> RunsOf(size_t server) const;

 private:
  SweepOptions LoadsOf(size_t server) const;
  absl::Status Take(const Turn& turn, const RuntimeSetting* setting);

  const std::vector<RunOptions> options_;
  const Invocation& invocation_;
  std::vector<std::unique_ptr<MeasuredServer>> servers_;
  std::vector<RunResult> runs_;
  std::vector<size_t> of_server_;  // [run]
  size_t loads_ = 0;               // to be measured, in all turns
  std::atomic<bool> is_stopped_{false};
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_MEASUREMENT_H_
