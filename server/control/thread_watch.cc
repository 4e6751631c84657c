// Implements ThreadWatch: compares what is late with what was before.
#include "server/control/thread_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ferry {

std::optional<std::string> ThreadWatch::Look(const std::vector<Thread>& threads,
                                             TimePoint now) {
  std::optional<std::string> why;
  std::vector<std::string> late;
  stalled_.clear();
  for (const Thread& thread : threads) {
    if (now - thread.turned <= kStalls) {
      continue;
    }
    late.push_back(thread.name);
    if (std::find(late_.begin(), late_.end(), thread.name) == late_.end()) {
      continue;
    }
    stalled_.push_back(thread.name);
    if (timeout_ > Duration(0) && now - thread.turned > timeout_) {
      why = absl::StrCat(
          "thread hangs name=", thread.name, " seconds=",
          std::chrono::duration_cast<std::chrono::seconds>(now - thread.turned)
              .count());
    }
  }
  late_ = std::move(late);
  return why;
}

}  // namespace ferry
