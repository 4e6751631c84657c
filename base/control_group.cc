// Implements ControlGroups() and MemoryQuota(): reads what the process is told
// of its groups, and their files.
#include "base/control_group.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

// Appends the group at that path below the mount, and those above it.
void AppendUpward(ControlGroup::Version version, const std::string& mount,
                  std::string path, std::vector<ControlGroup>& groups) {
  for (;;) {
    groups.push_back({version, absl::StrCat(mount, path, "/")});
    const size_t parent = path.rfind('/');
    if (parent == std::string::npos) {
      return;
    }
    path.resize(parent);
  }
}

}  // namespace

std::vector<ControlGroup> ControlGroups(const std::string& controller,
                                        const std::string& root) {
  std::vector<ControlGroup> groups;
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream told(root + "/proc/self/cgroup");
  std::string line;  // "0::/group", or "4:cpu,memory:/group" in version 1
  while (std::getline(told, line)) {
    const size_t names = line.find(':');
    const size_t group = line.find(':', names + 1);
    if (names == std::string::npos || group == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(names + 1, group - names - 1);
    const std::string path = line.substr(group + 1);
    if (controllers.empty()) {
      AppendUpward(ControlGroup::Version::kTwo, mount, path, groups);
    } else if (absl::StrContains(absl::StrCat(",", controllers, ","),
                                 absl::StrCat(",", controller, ","))) {
      AppendUpward(ControlGroup::Version::kOne,
                   absl::StrCat(mount, "/", controller), path, groups);
    }
  }
  return groups;
}

int64_t NumberOf(const ControlGroup& group, const std::string& file) {
  int64_t number = 0;  // what no number is leaves it
  std::ifstream(group.folder + file) >> number;
  return number;
}

int64_t MemoryQuota(const std::string& root) {
  // Version 1 says "none" as the largest number of whole pages.
  constexpr int64_t kMost = int64_t{1} << 60;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const ControlGroup& group : ControlGroups("memory", root)) {
    const int64_t bytes =
        NumberOf(group, group.version == ControlGroup::Version::kOne
                            ? "memory.limit_in_bytes"
                            : "memory.max");
    if (bytes > 0 && bytes < kMost) {
      least = std::min(least, bytes);
    }
  }
  return least;
}

}  // namespace ferry
