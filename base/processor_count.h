// ProcessorCount() returns how many processors this process may keep busy.
//
// Thread safety: free functions.
#ifndef FERRY_BASE_PROCESSOR_COUNT_H_
#define FERRY_BASE_PROCESSOR_COUNT_H_

#include <string>

namespace ferry {

// Returns the least of those that it may run on (sched_getaffinity(2)) and the
// quota of its control groups, rounded up; at least 1. `root`: where /proc and
// /sys are.
int ProcessorCount(const std::string& root = "");

// Returns that quota, of cgroup v2 or v1 and the least of the groups above;
// the largest int where none has one.
int ProcessorQuota(const std::string& root);

}  // namespace ferry

#endif  // FERRY_BASE_PROCESSOR_COUNT_H_
