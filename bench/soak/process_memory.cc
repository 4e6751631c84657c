// Implements ReadRssMb(): /proc/<pid>/statm; and SlopeMbPerMinute(): a line
// through points.
#include "bench/soak/process_memory.h"

#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"

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

double SlopeMbPerMinute(const std::vector<MemorySample>& samples,
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
  return count < 2 || spread <= 0 ? 0
                                  : (count * sum_xy - sum_x * sum_y) / spread;
}

}  // namespace ferry::bench
