// Implements MemoryLimit(): reads the files of control groups.
#include "server/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ferry {
namespace {

constexpr int64_t kMinDefaultMost = int64_t{1} << 30;
constexpr int64_t kMostMessages = 16;
constexpr int64_t kLeastMessages = 2;

int64_t OfMachine() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

// Returns the least that the files `name` say of a group and those above it. A
// file that is not there, or says "max", says nothing. In a container the path
// may be the host's, but what is mounted is the container's own.
int64_t LeastOf(const std::string& mount, std::string group,
                const std::string& name) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (;;) {
    std::ifstream file(absl::StrCat(mount, group, "/", name));
    std::string text;
    int64_t bytes = 0;
    if (file >> text && absl::SimpleAtoi(text, &bytes) && bytes > 0) {
      least = std::min(least, bytes);
    }
    const size_t parent = group.rfind('/');
    if (parent == std::string::npos) {
      return least;
    }
    group.resize(parent);
  }
}

}  // namespace

int64_t MemoryLimit(const std::string& root) {
  int64_t least = OfMachine();
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;  // "0::/group", or "4:cpu,memory:/group" in version 1
  while (std::getline(groups, line)) {
    const size_t names = line.find(':');
    const size_t group = line.find(':', names + 1);
    if (names == std::string::npos || group == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(names + 1, group - names - 1);
    const std::string path = line.substr(group + 1);
    if (controllers.empty()) {
      least =
          std::min(least, LeastOf(root + "/sys/fs/cgroup", path, "memory.max"));
    } else if (absl::StrContains(absl::StrCat(",", controllers, ","),
                                 ",memory,")) {
      least = std::min(least, LeastOf(root + "/sys/fs/cgroup/memory", path,
                                      "memory.limit_in_bytes"));
    }
  }
  return least;
}

int64_t DefaultGrpcMemory(int64_t memory_limit, int64_t max_message_bytes,
                          int64_t queue_bytes) {
  const int64_t least = queue_bytes + kLeastMessages * max_message_bytes;
  return std::clamp(
      memory_limit / 4, least,
      std::max({least, kMinDefaultMost, kMostMessages * max_message_bytes}));
}

}  // namespace ferry
