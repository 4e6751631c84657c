// BatcherThread is the thread of an instance: it warms the model up, waits
// until the instance is started, and then pulls batches.
//
// Thread safety: thread-compatible.
#ifndef FERRY_BATCHER_INTERNAL_BATCHER_THREAD_H_
#define FERRY_BATCHER_INTERNAL_BATCHER_THREAD_H_

#include <functional>
#include <future>
#include <thread>

#include "absl/status/status.h"
#include "batcher/instance.h"

namespace ferry {

class BatcherThread {
 public:
  // Pulls from the scheduler until that is stopped.
  using PullLoop = std::function<void(Scheduler&, InstanceId)>;

  BatcherThread() = default;
  ~BatcherThread() { Join(); }
  BatcherThread(const BatcherThread&) = delete;
  BatcherThread& operator=(const BatcherThread&) = delete;

  // Starts the thread and waits until `warm_up` has run on it. Returns its
  // status; INTERNAL where it threw. REQUIRES: called once.
  absl::Status WarmUp(std::function<absl::Status()> warm_up, PullLoop pull);

  // Lets the thread pull. REQUIRES: WarmUp() returned OK; called once.
  void Start(Scheduler& scheduler, InstanceId id);

  // Waits until the thread has ended; one that was not started ends at once.
  void Join();

 private:
  // What Start() tells the thread; null: it ends without.
  struct Source {
    Scheduler* scheduler = nullptr;
    InstanceId id = 0;
  };

  std::promise<Source> source_;
  bool is_started_ = false;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_BATCHER_THREAD_H_
