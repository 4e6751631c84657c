// FlightQueue: hands flights from the thread that starts them to the one that
// waits for them, in order. At most as many as there are slots.
//
// Thread safety: thread-safe.
#ifndef FERRY_BATCHER_FLIGHT_QUEUE_H_
#define FERRY_BATCHER_FLIGHT_QUEUE_H_

#include <deque>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "batcher/mutex.h"
#include "batcher/stream_pipeline.h"

namespace ferry {

class FlightQueue {
 public:
  void Push(StreamPipeline::Flight flight) {
    {
      MutexLock lock(mutex_);
      flights_.push_back(std::move(flight));
    }
    changed_.SignalOne();
  }

  // The oldest; waits for one. None when closed and empty.
  std::optional<StreamPipeline::Flight> Pop() {
    MutexLock lock(mutex_);
    while (flights_.empty()) {
      if (closed_) {
        return std::nullopt;
      }
      changed_.Wait(mutex_);
    }
    std::optional<StreamPipeline::Flight> flight = std::move(flights_.front());
    flights_.pop_front();
    return flight;
  }

  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    changed_.SignalAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<StreamPipeline::Flight> flights_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_FLIGHT_QUEUE_H_
