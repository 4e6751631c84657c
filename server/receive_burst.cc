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
  tags_ = 0;
}

void ReceiveBurst::End() {
  if (const ModelUse told = std::move(entry_)) {
    told->model().batcher->Serve();
  }
}

void ReceiveBurst::Pass() {
  tags_ = 0;
  End();
  if (std::exchange(is_raised_, false)) {
    LowerThreadPriority();
  }
}

Duration ReceiveBurst::RunInline() {
  const ModelUse told = std::move(entry_);
  Batcher& batcher = *told->model().batcher;
  tags_ = 0;
  if (!batcher.ServeInline()) {
    return Duration(0);
  }
  if (!std::exchange(is_raised_, true)) {
    RaiseThreadPriority();
  }
  return batcher.max_poll();
}

}  // namespace ferry
