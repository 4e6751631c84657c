// RuntimeSetting says how a running server batches; GridOf() gives the settings
// that a sweep over them tries.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_RUNTIME_GRID_H_
#define FERRY_BENCH_REPORT_RUNTIME_GRID_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ferry::bench {

struct RuntimeSetting {
  std::string policy = "eager";
  int32_t max_batch_size = 1;  // rows
  double max_wait_ms = 0;

  bool operator==(const RuntimeSetting&) const = default;
};

// Returns "window, 32 rows, 2 ms", or "eager, 32 rows", which never waits.
std::string Describe(const RuntimeSetting& setting);

// Returns the lines of a config.pbtxt that have it.
std::string ConfigOf(const RuntimeSetting& setting);

struct RuntimeChoices {
  std::vector<std::string> policies = {"eager", "window", "adaptive"};
  std::vector<int32_t> max_batch_sizes;
  std::vector<double> max_waits_ms;
};

// Returns each policy with each batch size and wait; `eager` without waits.
std::vector<RuntimeSetting> GridOf(const RuntimeChoices& choices);

// Returns `choices` with what is left empty: the largest batch, a half and a
// quarter of it; waits of a fiftieth, a tenth and a quarter of `bound_ms`.
RuntimeChoices Completed(RuntimeChoices choices, int32_t max_batch_size,
                         double bound_ms);

// Returns `choices` with what is left empty as `own` has it.
RuntimeChoices CompletedBy(RuntimeChoices choices, const RuntimeSetting& own);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_RUNTIME_GRID_H_
