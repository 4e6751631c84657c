// HeatGrids() shows what each setting of max_batch_size and max_wait carries, a
// grid for each model and policy: from runs whose runtime options were turned
// (`ferry-bench tune`, and `run` with --policies, --max-batch-sizes or
// --max-waits-ms).
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_HEAT_MAP_H_
#define FERRY_BENCH_REPORT_HEAT_MAP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

struct HeatCell {
  double rate = 0;       // requests/s
  bool is_best = false;  // of all grids of the model
  // Whether the setting carries less than `rate`: this rate misses the bound,
  // and none that keeps it was found.
  bool is_bound = false;
  double served = 0;  // requests/s: `rate`, or what was served at it
};

struct HeatGrid {
  std::string model;
  std::string policy;
  std::vector<int32_t> batch_sizes = {};  // rows, ascending
  std::vector<double> waits_ms = {};      // columns, ascending; {0} for `eager`
  // By place in batch_sizes and waits_ms. A setting that was not tried has no
  // cell; of one that was tried twice, the higher rate counts.
  std::map<std::pair<size_t, size_t>, HeatCell> cells = {};
};

// Returns grids in the order of the runs; none where fewer than two settings of
// a model say something. A cell is what the search of its run found, where the
// bound of p99 `slo_ms` is that of the search, or none is given. Else it is the
// highest rate within the bound, and without a bound the most that was served.
std::vector<HeatGrid> HeatGrids(const std::vector<RunResult>& runs,
                                const std::optional<double>& slo_ms);

// Returns tables whose cells have their share of the best as the style's
// `--heat`, 0 to 1.
std::string HeatMapToHtml(const std::vector<HeatGrid>& grids);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_HEAT_MAP_H_
