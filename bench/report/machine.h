// Machine describes this machine, so that results say where they are measured.
//
// Thread safety: free functions.
#ifndef FERRY_BENCH_REPORT_MACHINE_H_
#define FERRY_BENCH_REPORT_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace ferry::bench {

struct Machine {
  std::string cpu;        // "unknown" where the system does not tell
  std::string cpu_flags;  // those that decide the speed of bf16
  int32_t cores = 0;      // online
  std::string kernel;
  std::string governor;              // as ReadGovernor() says
  std::vector<double> load_average;  // 1, 5, 15 minutes; empty: not told
  uint64_t memory_bytes = 0;
};

Machine DescribeMachine();

// Returns what decides the clock of the processors, "performance"; several of
// them joined by ", "; "" where the system does not tell, as in most virtual
// machines.
std::string ReadGovernor(const std::string& folder = "/sys/devices/system/cpu");

// Returns what compiled this program: "GCC 13.2.0".
std::string CompilerName();

// Now, UTC, as RFC 3339 with seconds.
std::string DateNow();

// That moment, to the millisecond.
std::string DateOf(TimePoint moment);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_MACHINE_H_
