// ArrivalTrace holds the times at which requests arrived somewhere, read from a
// file; TraceArrivals sends at those times again.
//
// A file has one arrival a line, in seconds from any moment, ascending. Or it
// is CSV (without quotes) whose header has a column 'arrival_s' or 'timestamp',
// in small or capital letters. Empty lines are skipped.
//
// Thread safety: ArrivalTrace is immutable, TraceArrivals thread-compatible.
#ifndef FERRY_BENCH_ARRIVALS_ARRIVAL_TRACE_H_
#define FERRY_BENCH_ARRIVALS_ARRIVAL_TRACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/arrivals/arrival_process.h"

namespace ferry::bench {

class ArrivalTrace {
 public:
  // NOT_FOUND where the file cannot be read; INVALID_ARGUMENT, with file, line,
  // what was expected and what was found, where it is not as above, has no two
  // arrivals at different times, or more than ten million.
  static absl::StatusOr<ArrivalTrace> Read(const std::string& path);

  // Mean arrivals per second: those after the first / (last - first).
  double rate() const { return rate_; }

  // From each arrival to the next, in s.
  const std::vector<double>& gaps_s() const { return gaps_s_; }

 private:
  explicit ArrivalTrace(const std::vector<double>& times_s);

  std::vector<double> gaps_s_;
  double rate_ = 0;
};

// Sends the gaps of a trace, stretched or compressed so that the mean is
// `per_second`. After the last it starts over, a mean gap later; as the first
// send is a mean gap after the start, each round has the same mean.
class TraceArrivals final : public ArrivalProcess {
 public:
  // Shares the trace with all loads of a sweep. REQUIRES: per_second > 0.
  TraceArrivals(std::shared_ptr<const ArrivalTrace> trace, double per_second);

 private:
  double DrawGapNs() override;

  const std::shared_ptr<const ArrivalTrace> trace_;
  const double mean_gap_ns_;
  const double stretch_ns_;  // per second of the trace
  size_t next_ = 0;          // 0: the mean gap, i: gap i - 1
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_ARRIVALS_ARRIVAL_TRACE_H_
