// VirtualSummary: what a virtual run did, in numbers, by class and in all.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_VIRTUAL_SUMMARY_H_
#define FERRY_BENCH_VIRTUAL_SUMMARY_H_

#include <deque>
#include <string>

#include "bench/latency_histogram.h"
#include "bench/virtual_run.h"

namespace ferry::bench {

class VirtualSummary {
 public:
  explicit VirtualSummary(const VirtualRunOptions& options);

  void Add(const VirtualRecord& record);

  // One JSON object. Rates are in rows/s over the duration of the arrivals,
  // goodput those answered in time; latencies in ms, of what was answered OK.
  std::string ToJson(const VirtualRunResult& result) const;

 private:
  struct Counts {
    int64_t sent = 0;
    int64_t refused = 0;
    int64_t failed = 0;  // admitted, then an error
    int64_t ok_rows = 0;
    LatencyHistogram latency;
  };

  const VirtualRunOptions& options_;
  std::deque<Counts> by_class_;
  LatencyHistogram latency_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_VIRTUAL_SUMMARY_H_
