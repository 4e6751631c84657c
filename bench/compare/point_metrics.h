// MetricKinds() lists what points are compared by, and how each metric varies
// in one run.
//
// A query of an offline point is as fast as its rows/s; when its requests were
// answered says how far the query was, so that their latencies are no metric.
//
// Thread safety: functions over values.
#ifndef FERRY_BENCH_COMPARE_POINT_METRICS_H_
#define FERRY_BENCH_COMPARE_POINT_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/compare/estimate.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

struct MetricKind {
  const char* name;
  const char* unit;
  bool is_ratio;
  int better;  // 1: the higher; -1: the lower; 0: neither
  std::optional<double> (*value)(const PointResult& point);
  // The center of log(value), or of the value where it is no ratio. Nothing
  // where the run does not say.
  std::optional<Center> (*by_slices)(const PointResult& point);
  // Standard error of the value by how it is counted, relative, which repeats
  // may share. 0 of shares: counting_error.h has theirs.
  double (*resolution)(const PointResult& point);
  // Depends on RunResult::slo_ms: compared under one bound alone. Slices do
  // not have it.
  bool is_of_bound = false;
};

const std::vector<MetricKind>& MetricKinds();

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMPARE_POINT_METRICS_H_
