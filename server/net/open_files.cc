// Implements the bounds of open files over RLIMIT_NOFILE.
#include "server/net/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace ferry {
namespace {

// Some libraries look at every descriptor that there may be.
constexpr rlim_t kMaxLimit = rlim_t{1} << 20;
constexpr int kReservedFiles = 64;
constexpr int kAdminsPart = 4;  // of these, one in four

int ReservedFiles(int limit) { return std::min(kReservedFiles, limit / 4); }

}  // namespace

void RaiseOpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kMaxLimit) {
    limit.rlim_cur = std::min(limit.rlim_max, kMaxLimit);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int OpenFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min(limit.rlim_cur, kMaxLimit));
}

int FirstReservedFile(int limit) { return limit - ReservedFiles(limit); }

int FirstFileReservedFromAdmin(int limit) {
  return FirstReservedFile(limit) + ReservedFiles(limit) / kAdminsPart;
}

}  // namespace ferry
