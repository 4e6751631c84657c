// Implements ThreadWatch: compares what is late with what was before.
#include "server/control/thread_watch.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {

std::optional<std::string> ThreadWatch::Look(const std::vector<Thread>& threads,
                                             TimePoint now) {
  std::optional<std::string> why;
  std::vector<std::string> late;
  std::vector<std::string> stalled;
  for (const Thread& thread : threads) {
    if (now - thread.turned <= kLate) {
      continue;
    }
    late.push_back(thread.name);
    if (now - thread.turned <= kStalls ||
        std::find(late_.begin(), late_.end(), thread.name) == late_.end()) {
      continue;
    }
    stalled.push_back(thread.name);
    if (timeout_ > Duration(0) && now - thread.turned > timeout_) {
      why = absl::StrCat(
          "thread hangs name=", thread.name, " seconds=",
          std::chrono::duration_cast<std::chrono::seconds>(now - thread.turned)
              .count());
    }
  }
  late_ = std::move(late);
  if (stalled != stalled_ && !stalled.empty()) {
    spdlog::warn(
        "not ready: threads that serve all clients have not turned for 5 s: {}",
        absl::StrJoin(stalled, ", "));
  } else if (stalled != stalled_) {
    spdlog::info("all threads turn again");
  }
  stalled_ = std::move(stalled);
  return why;
}

}  // namespace ferry
