// DeliveryThread delivers batches in the order in which it gets them, so that
// an instance computes the next batch while the replies of the last are
// written.
//
// The pool bounds how many batches it holds.
//
// Thread safety: Push() from one thread at a time.
#ifndef FERRY_BATCHER_DELIVERY_THREAD_H_
#define FERRY_BATCHER_DELIVERY_THREAD_H_

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "batcher/batch.h"
#include "batcher/mutex.h"

namespace ferry {

class DeliveryThread {
 public:
  DeliveryThread();

  // Delivers what it was given, then ends.
  ~DeliveryThread();

  void Push(BatchPtr batch) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<BatchPtr> batches_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DELIVERY_THREAD_H_
