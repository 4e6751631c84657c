// SloPoint is the measured load that says what one replica carries within an
// SLO, lambda_max, and what speaks against trusting it.
//
// Thread safety: plain values and free functions over them.
#ifndef FERRY_BENCH_COMMANDS_SLO_POINT_H_
#define FERRY_BENCH_COMMANDS_SLO_POINT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/report/point_rules.h"
#include "bench/report/run_result.h"

namespace ferry::bench {

struct SloPoint {
  std::string label;  // of the run
  std::string model;
  double rows_per_request = 1;
  bool is_simulated = false;
  PointResult point;
  std::vector<std::string> notes;

  double lambda_max() const { return point.achieved_rate; }  // requests/s
};

// Returns the runs with this label, or all where it is empty.
// Errors: INVALID_ARGUMENT where there are none, or where those that are left
// have several labels; `name` is the file's, for the message.
absl::StatusOr<std::vector<RunResult>> SelectRuns(
    const std::vector<RunResult>& runs, const std::string& label,
    const std::string& name);

// Returns the point of the highest achieved rate among those of an open loop
// that are neither void nor cut short, nor of a search at a rate that it did
// not confirm, that are steady (WhyUnsteady()), with p99 <= `p99_ms` and a
// success share of at least kLeastSuccessShare. REQUIRES: `runs` as
// SelectRuns() gives them. Errors: FAILED_PRECONDITION where there is none,
// with what keeps each point from it; INVALID_ARGUMENT for an SLO that is no
// positive number.
absl::StatusOr<SloPoint> FindSloPoint(const std::vector<RunResult>& runs,
                                      double p99_ms);

// Does both on the result at `path`, whose name begins the message where no
// point is found. Errors: also those of ReadRuns().
absl::StatusOr<SloPoint> ReadSloPoint(const std::string& path,
                                      const std::string& label, double p99_ms);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_COMMANDS_SLO_POINT_H_
