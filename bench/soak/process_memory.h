// ReadRssMb() reads the resident memory of a process; SlopeMbPerMinute() takes
// its trend, DescribeMemory() says it.
//
// Thread safety: free functions over values.
#ifndef FERRY_BENCH_SOAK_PROCESS_MEMORY_H_
#define FERRY_BENCH_SOAK_PROCESS_MEMORY_H_

#include <optional>
#include <string>
#include <vector>

namespace ferry::bench {

struct MemorySample {
  double at_s = 0;  // since the soak began
  double rss_mb = 0;
};

// Returns the resident memory of the process in MB (10^6 bytes); nothing where
// there is no such process.
std::optional<double> ReadRssMb(int pid);

// Returns the slope in MB a minute of the least-squares line through the
// samples at or after `from_s`; nothing with fewer than two.
std::optional<double> SlopeMbPerMinute(const std::vector<MemorySample>& samples,
                                       double from_s);

// Returns that slope in words, or what to do to have one.
std::string DescribeMemory(const std::vector<MemorySample>& samples,
                           std::optional<double> slope, double from_s);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_SOAK_PROCESS_MEMORY_H_
