// Implements MemoryLimit(): asks the system and the control groups.
#include "server/memory_limit.h"

#include <unistd.h>

#include <algorithm>

#include "base/control_group.h"

namespace ferry {
namespace {

constexpr int64_t kMinDefaultMost = int64_t{1} << 30;
constexpr int64_t kMostMessages = 16;
constexpr int64_t kLeastMessages = 2;

int64_t OfMachine() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int64_t MemoryLimit(const std::string& root) {
  return std::min(OfMachine(), MemoryQuota(root));
}

int64_t DefaultGrpcMemory(int64_t memory_limit, int64_t max_message_bytes,
                          int64_t queue_bytes) {
  const int64_t least = queue_bytes + kLeastMessages * max_message_bytes;
  return std::clamp(
      memory_limit / 4, least,
      std::max({least, kMinDefaultMost, kMostMessages * max_message_bytes}));
}

}  // namespace ferry
