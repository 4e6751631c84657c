// VirtualSummary counts what a virtual run did, by class and in all.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BENCH_VIRTUAL_VIRTUAL_SUMMARY_H_
#define FERRY_BENCH_VIRTUAL_VIRTUAL_SUMMARY_H_

#include <deque>
#include <string>

#include "bench/load/latency_histogram.h"
#include "bench/virtual/virtual_run.h"

namespace ferry::bench {

class VirtualSummary {
 public:
  explicit VirtualSummary(const VirtualRunOptions& options);

  void Add(const VirtualRecord& record);

  // A sentence of what was carried, and why the device is busier than that
  // where batches leave before they are full and all were answered in time.
  std::string ToText(const VirtualRunResult& result) const;

  // One JSON object. Goodput is what was answered OK within its timeout, while
  // requests arrived, in rows/s; latencies are in ms, of all answered OK.
  std::string ToJson(const VirtualRunResult& result) const;

 private:
  struct Counts {
    int64_t sent = 0;
    int64_t refused = 0;
    int64_t failed = 0;  // admitted, then an error
    int64_t late = 0;    // answered OK past the timeout
    int64_t good_rows = 0;
    LatencyHistogram latency;
  };

  double SaturationRate() const;  // rows/s
  double Goodput() const;         // rows/s
  double BusyRatio(const VirtualRunResult& result) const;
  bool AllInTime() const;  // answered OK, each within its timeout

  const VirtualRunOptions& options_;
  std::deque<Counts> by_class_;
  LatencyHistogram latency_;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_VIRTUAL_VIRTUAL_SUMMARY_H_
