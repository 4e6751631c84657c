// Implements MemoryGuard.
#include "server/control/memory_guard.h"

#include <spdlog/spdlog.h>

#include <fstream>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/control/return_memory.h"

namespace ferry {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Returns the sum of anonymous and shared memory of the process, in bytes
// (proc(5): RssAnon and RssShmem, in kB).
std::optional<int64_t> UsedByProcess() {
  std::ifstream status("/proc/self/status");
  int64_t kib = 0;
  for (std::string key; status >> key;
       status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    int64_t value = 0;
    if ((key == "RssAnon:" || key == "RssShmem:") && status >> value) {
      kib += value;
    }
  }
  return kib > 0 ? std::optional<int64_t>(kib << 10) : std::nullopt;
}

}  // namespace

MemoryGuard::Memory MemoryGuard::OfProcess() {
  return {.used = &UsedByProcess, .give_back = &ReturnFreedMemory};
}

std::optional<std::string> MemoryGuard::Look() {
  std::optional<int64_t> found = memory_.used();
  if (found > refuse_from_ || found > end_from_) {
    memory_.give_back();
    found = memory_.used();
  }
  if (!found.has_value()) {
    return std::nullopt;
  }
  const int64_t used = *found;
  used_.store(used, std::memory_order_relaxed);
  const bool is_short = used > refuse_from_;
  const bool was_short =
      is_short_.exchange(is_short, std::memory_order_relaxed);
  if (is_short && !was_short) {
    spdlog::warn(
        "memory: requests larger than 64 KiB are refused used_mib={} "
        "limit_mib={}",
        used / kMiB, limit_ / kMiB);
  } else if (was_short && !is_short) {
    spdlog::info("memory: large requests are taken again used_mib={}",
                 used / kMiB);
  }
  if (used <= end_from_) {
    return std::nullopt;
  }
  return absl::StrCat("memory runs out used_mib=", used / kMiB,
                      " limit_mib=", limit_ / kMiB);
}

}  // namespace ferry
