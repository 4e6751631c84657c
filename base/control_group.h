// ControlGroups() returns the control groups that bound this process: its own
// and those above it, of version 2 or 1 (containers, systemd's units).
//
// Thread safety: free functions.
#ifndef FERRY_BASE_CONTROL_GROUP_H_
#define FERRY_BASE_CONTROL_GROUP_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ferry {

struct ControlGroup {
  enum class Version { kOne, kTwo };

  Version version = Version::kTwo;
  std::string folder;  // of its files, which may not be there
};

// Returns the groups of a controller of version 1, such as "memory" or "cpu",
// and those of version 2. In a container the path that the process is told may
// be the host's, but what is mounted is the container's own: it is among those
// above. `root`: where /proc and /sys are.
std::vector<ControlGroup> ControlGroups(const std::string& controller,
                                        const std::string& root);

// Returns the number that a group's file begins with; 0 where it is not there,
// or begins with something else, such as "max".
int64_t NumberOf(const ControlGroup& group, const std::string& file);

// Returns the least memory in bytes that one of the process's groups allows;
// the largest int64_t where none has a limit.
int64_t MemoryQuota(const std::string& root);

}  // namespace ferry

#endif  // FERRY_BASE_CONTROL_GROUP_H_
