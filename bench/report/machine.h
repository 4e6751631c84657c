// What this machine is, for results that must say where they were measured.
//
// Thread safety: free functions.
#ifndef FERRY_BENCH_REPORT_MACHINE_H_
#define FERRY_BENCH_REPORT_MACHINE_H_

#include <cstdint>
#include <string>

namespace ferry::bench {

struct Machine {
  std::string cpu;        // "unknown" where the system does not tell
  std::string cpu_flags;  // those that decide the speed of bf16
  int32_t cores = 0;      // online
  std::string kernel;
};

Machine DescribeMachine();

// Now, UTC, as RFC 3339 with seconds.
std::string DateNow();

}  // namespace ferry::bench

#endif  // FERRY_BENCH_REPORT_MACHINE_H_
