// Implements DescribeMachine(): reads /proc/cpuinfo, /sys and uname.
#include "bench/report/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace ferry::bench {
namespace {

constexpr absl::string_view kTellingFlags[] = {
    "avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile", "hypervisor"};

std::string AfterColon(const std::string& line) {
  return std::string(
      absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
}

}  // namespace

Machine DescribeMachine() {
  Machine machine;
  machine.cpu = "unknown";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    if (absl::StartsWith(line, "model name")) {
      machine.cpu = AfterColon(line);
    }
    if (absl::StartsWith(line, "flags")) {
      std::vector<std::string> telling;
      for (const absl::string_view flag :
           absl::StrSplit(AfterColon(line), ' ')) {
        if (std::find(std::begin(kTellingFlags), std::end(kTellingFlags),
                      flag) != std::end(kTellingFlags)) {
          telling.emplace_back(flag);
        }
      }
      machine.cpu_flags = absl::StrJoin(telling, " ");
    }
  }
  machine.cores = static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  utsname name;
  if (uname(&name) == 0) {
    machine.kernel = absl::StrCat(name.sysname, " ", name.release);
  }
  machine.governor = ReadGovernor();
  double loads[3];
  if (const int told = getloadavg(loads, 3); told > 0) {
    machine.load_average.assign(loads, loads + told);
  }
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) {
    machine.memory_bytes = static_cast<uint64_t>(pages) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  return machine;
}

std::string ReadGovernor(const std::string& folder) {
  std::set<std::string> governors;
  for (int cpu = 0;; ++cpu) {
    const std::string of_cpu = absl::StrCat(folder, "/cpu", cpu);
    if (!std::filesystem::exists(of_cpu)) {
      break;
    }
    std::ifstream file(of_cpu + "/cpufreq/scaling_governor");
    std::string governor;
    if (file >> governor) {
      governors.insert(governor);
    }
  }
  return absl::StrJoin(governors, ", ");
}

std::string CompilerName() {
#if defined(__clang__)
  return __VERSION__;  // begins with its name
#else
  return "GCC " __VERSION__;
#endif
}

std::string DateNow() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(),
                          absl::UTCTimeZone());
}

std::string DateOf(TimePoint moment) {
  return absl::FormatTime(
      "%Y-%m-%dT%H:%M:%E3SZ",
      absl::Now() + absl::FromChrono(moment - Clock::Steady().Now()),
      absl::UTCTimeZone());
}

}  // namespace ferry::bench
