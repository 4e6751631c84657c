// Implements ProcessorCount(): reads the quotas of control groups.
#include "base/processor_count.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <thread>

#include "base/control_group.h"

namespace ferry {
namespace {

constexpr int kNoQuota = std::numeric_limits<int>::max();

// The standard library counts those of the node, also where a cpuset allows
// fewer: glibc 2.36 reads what is online.
int AllowedProcessors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return static_cast<int>(std::thread::hardware_concurrency());
  }
  return CPU_COUNT(&allowed);
}

// How long a group may compute within each period, in microseconds; 0 in one of
// them: as long as it likes.
struct Quota {
  int64_t time = 0;
  int64_t period = 0;
};

Quota Read(const ControlGroup& group) {
  Quota quota;
  if (group.version == ControlGroup::Version::kOne) {
    quota.time = NumberOf(group, "cpu.cfs_quota_us");  // -1: no quota
    quota.period = NumberOf(group, "cpu.cfs_period_us");
  } else {
    std::ifstream file(group.folder + "cpu.max");  // "150000 100000"
    file >> quota.time >> quota.period;            // or "max 100000"
  }
  return quota;
}

int ProcessorsOf(const Quota& quota) {
  if (quota.time <= 0 || quota.period <= 0) {
    return kNoQuota;
  }
  const int64_t rounded_up = (quota.time - 1) / quota.period + 1;
  return static_cast<int>(std::min<int64_t>(rounded_up, kNoQuota));
}

}  // namespace

int ProcessorQuota(const std::string& root) {
  int least = kNoQuota;
  for (const ControlGroup& group : ControlGroups("cpu", root)) {
    least = std::min(least, ProcessorsOf(Read(group)));
  }
  return least;
}

int ProcessorCount(const std::string& root) {
  return std::clamp(AllowedProcessors(), 1, ProcessorQuota(root));
}

}  // namespace ferry
