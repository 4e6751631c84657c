// Implements ReadRssMb(): /proc/<pid>/statm; SlopeMbPerMinute(): a line through
// points; and DescribeMemory().
#include "bench/soak/process_memory.h"

#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ferry::bench {

std::optional<double> ReadRssMb(int pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  double size_pages = 0;
  double resident_pages = 0;
  if (!(statm >> size_pages >> resident_pages)) {
    return std::nullopt;
  }
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

std::optional<double> SlopeMbPerMinute(const std::vector<MemorySample>& samples,
                                       double from_s) {
  double count = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (const MemorySample& sample : samples) {
    if (sample.at_s < from_s) {
      continue;
    }
    const double minutes = sample.at_s / 60;
    count += 1;
    sum_x += minutes;
    sum_y += sample.rss_mb;
    sum_xx += minutes * minutes;
    sum_xy += minutes * sample.rss_mb;
  }
  const double spread = count * sum_xx - sum_x * sum_x;
  if (count < 2 || spread <= 0) {
    return std::nullopt;
  }
  return (count * sum_xy - sum_x * sum_y) / spread;
}

std::string DescribeMemory(const std::vector<MemorySample>& samples,
                           std::optional<double> slope, double from_s) {
  if (samples.empty()) {
    return "memory was not checked: --server-pid says whose to read";
  }
  return slope.has_value()
             ? absl::StrFormat("rss %.1f MB, slope %.3f MB/min",
                               samples.back().rss_mb, *slope)
             : absl::StrFormat(
                   "rss %.1f MB; its slope was not checked: it takes "
                   "two readings after %.0f s, so a soak and a process that "
                   "last longer",
                   samples.back().rss_mb, from_s);
}

}  // namespace ferry::bench
