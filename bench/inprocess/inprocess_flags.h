// InProcessFlags describes a model and a device as ferry-server's flags do, and
// loads and a search as ferry-bench's do.
//
// Thread safety: plain values; functions of their arguments.
#ifndef FERRY_BENCH_INPROCESS_INPROCESS_FLAGS_H_
#define FERRY_BENCH_INPROCESS_INPROCESS_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "bench/commands/run_options.h"
#include "bench/commands/search_flags.h"
#include "models/nvml/device_choice.h"
#include "models/repository/model_repository.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ferry::bench {

struct InProcessFlags {
  SearchFlags search;  // its `run` is that of all loads
  bool is_search = false;
  std::string device = "cpu";
  // Parsed from `device`, without what it is opened as.
  nvml::DeviceSelector selector;
  ModelRepositoryOptions repository;

  RunOptions& options() { return search.run; }
};

// Parsing of `app` fills `flags`, which outlives it.
void AddInProcessFlags(CLI::App& app, InProcessFlags& flags);

// Reads what needs a step between text and options. Errors: INVALID_ARGUMENT
// with the flag, and those of CompleteRunOptions() or of Complete() of a
// search.
absl::Status Complete(InProcessFlags& flags);

// Sets what an offline scenario, if there is one, leaves to the model.
void PlanOfflineRun(int32_t max_batch_size, int32_t instances,
                    RunOptions& options);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_INPROCESS_INPROCESS_FLAGS_H_
