// Whom to tell, and how.
#include "server/receive_burst.h"

#include <utility>

#include "batcher/thread_priority.h"

namespace ferry {

void ReceiveBurst::Add(ModelEntry& entry) {
  if (entry_ && &*entry_ == &entry) {
    return;
  }
  End();
  entry.UseAgain();
  entry_ = ModelUse(entry);
}

ModelUse ReceiveBurst::Take() {
  tags_ = 0;
  bytes_ = 0;
  return std::move(entry_);
}

void ReceiveBurst::End() {
  if (const ModelUse told = Take()) {
    told->model().batcher->Serve();
  }
}

std::optional<Duration> ReceiveBurst::RunInline() {
  const ModelUse told = Take();
  Batcher& batcher = *told->model().batcher;
  if (!batcher.ServeInline()) {
    return std::nullopt;
  }
  tags_since_run_ = 0;
  if (!std::exchange(is_raised_, true)) {
    RaiseThreadPriority();
  }
  return batcher.max_poll();
}

void ReceiveBurst::Lower() {
  tags_since_run_ = 0;
  if (std::exchange(is_raised_, false)) {
    LowerThreadPriority();
  }
}

}  // namespace ferry
