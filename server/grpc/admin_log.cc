// Implements AdminLog: counts calls second by second.
#include "server/grpc/admin_log.h"

#include <spdlog/spdlog.h>

#include <chrono>

#include "base/printable_text.h"

namespace ferry {

void AdminLog::Tell(const std::string& path, const std::string& client,
                    const std::string& peer) {
  const TimePoint now = clock_.Now();
  int calls = 0;
  {
    MutexLock lock(mutex_);
    if (now >= second_end_) {
      second_end_ = now + std::chrono::seconds(1);
      calls_ = 0;
    }
    calls = ++calls_;
  }
  if (calls > kMostPerSecond) {
    if (calls == kMostPerSecond + 1) {
      spdlog::warn("leaves out the admin calls of a second past its first {}",
                   kMostPerSecond);
    }
    return;
  }
  spdlog::info("admin call {} client='{}' peer={}", path, PrintableText(client),
               peer);
}

}  // namespace ferry
