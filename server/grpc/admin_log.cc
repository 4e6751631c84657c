// Implements AdminLog: counts calls second by second.
#include "server/grpc/admin_log.h"

#include <spdlog/spdlog.h>

#include <chrono>

#include "base/printable_text.h"

namespace ferry {

void AdminLog::Tell(const std::string& path, const std::string& client,
                    const std::string& peer) {
  const TimePoint now = clock_.Now();
  int untold = 0;
  {
    MutexLock lock(mutex_);
    if (now >= second_end_) {
      untold = calls_ - kMostPerSecond;
      second_end_ = now + std::chrono::seconds(1);
      calls_ = 0;
    }
    if (++calls_ > kMostPerSecond) {
      return;
    }
  }
  if (untold > 0) {
    spdlog::warn(
        "left out {} admin calls, as there were more than {} in a second",
        untold, kMostPerSecond);
  }
  spdlog::info("admin call {} client='{}' peer={}", path, PrintableText(client),
               peer);
}

}  // namespace ferry
