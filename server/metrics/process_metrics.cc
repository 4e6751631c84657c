// Implements AddProcess() over /proc/self.
#include "server/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

namespace ferry {
namespace {

constexpr MetricName kCpu = {"process_cpu_seconds_total",
                             "Processor time of the process"};
constexpr MetricName kMemory = {"process_resident_memory_bytes",
                                "Resident memory of the process"};
constexpr MetricName kStart = {"process_start_time_seconds",
                               "When the process began, since the epoch"};
constexpr MetricName kOpenFiles = {"process_open_fds",
                                   "Descriptors that are open"};
constexpr MetricName kMaxFiles = {"process_max_fds",
                                  "Descriptors that may be open"};

double ToSeconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) / 1e6;
}

// Returns the field of /proc/self/stat, counted from 1 (proc(5)), of those
// after the command's name.
std::optional<double> StatField(int field) {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  size_t at = name_end;
  for (int i = 2; i < field && at != std::string::npos; ++i) {
    at = text.find(' ', at + 1);
  }
  return at == std::string::npos
             ? std::nullopt
             : std::optional<double>(std::atof(text.c_str() + at));
}

// Returns when the system began, in seconds since the epoch.
std::optional<double> BootTime() {
  std::ifstream stat("/proc/stat");
  for (std::string key; stat >> key; stat.ignore(1 << 16, '\n')) {
    double seconds = 0;
    if (key == "btime" && stat >> seconds) {
      return seconds;
    }
  }
  return std::nullopt;
}

std::optional<double> StartTime() {
  constexpr int kStartTicks = 22;
  const auto ticks = StatField(kStartTicks);
  const auto boot = BootTime();
  return ticks.has_value() && boot.has_value()
             ? std::optional<double>(
                   *boot + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK)))
             : std::nullopt;
}

}  // namespace

void AddProcess(MetricFamilies& out) {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    out.AddCounter(kCpu, {},
                   ToSeconds(usage.ru_utime) + ToSeconds(usage.ru_stime));
  }
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream statm("/proc/self/statm");
  if (statm >> total_pages >> resident_pages) {
    out.AddGauge(kMemory, {},
                 static_cast<double>(resident_pages * sysconf(_SC_PAGESIZE)));
  }
  // Once: where the clock is set, the system takes another time for its begin.
  static const std::optional<double> start = StartTime();
  if (start.has_value()) {
    out.AddGauge(kStart, {}, *start);
  }
  std::error_code error;
  double files = -1;  // without that of the folder itself
  for (std::filesystem::directory_iterator file("/proc/self/fd", error), end;
       !error && file != end; file.increment(error)) {
    ++files;
  }
  if (!error) {
    out.AddGauge(kOpenFiles, {}, files);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.AddGauge(kMaxFiles, {}, static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace ferry
