// What each setting of max_batch_size and max_wait carries, a grid for each
// model and policy: of runs whose knobs were turned (`ferry-bench tune`).
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_REPORT_HEAT_MAP_H_
#define FERRY_BENCH_REPORT_HEAT_MAP_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/run_result.h"

namespace ferry::bench {

struct HeatCell {
  double rate = 0;       // requests/s
  bool is_best = false;  // of all grids of the model
  // Whether the setting carries less than `rate`: the search tried this one
  // rate, which misses the bound, and gave up.
  bool is_bound = false;
  double served = 0;  // requests/s: `rate`, or what it served in that try
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
// a model were tried.
std::vector<HeatGrid> HeatGrids(const std::vector<RunResult>& runs);

// Returns tables whose cells have their share of the best as the style's
// `--heat`, 0 to 1.
std::string HeatMapToHtml(const std::vector<HeatGrid>& grids);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_HEAT_MAP_H_
