// DevicePipeline takes batches through a DeviceModel, one step after the other.
// DeviceInstance calls the steps on its threads, the simulated device on a
// virtual clock.
//
// Life of a batch in flight: Begin() -> Submit() -> Await() -> Unload(). The
// batches are awaited in the order in which they began, those that failed on
// the way too.
//
// Once the device is lost, every batch fails without touching it.
//
// Thread safety: Begin() and Submit() from one thread, the others from one,
// which may be another; a batch in flight is handed over between them.
#ifndef FERRY_BATCHER_INTERNAL_DEVICE_PIPELINE_H_
#define FERRY_BATCHER_INTERNAL_DEVICE_PIPELINE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "batcher/batch.h"
#include "batcher/device_model.h"

namespace ferry {

class DevicePipeline {
 public:
  struct InFlight {
    BatchPtr batch = {};
    int32_t place = 0;
    OutputRef output = {};
    Outcome outcome = {};
    Duration gather{0};
    TimePoint submitted = kNever;  // its compute was started, or tried to

    bool is_submitted() const { return submitted != kNever; }
  };

  // Both outlive it.
  DevicePipeline(DeviceModel& model, const Clock& clock);

  // Gathers, and starts to copy in.
  // REQUIRES: fewer than model.places() batches are between Begin() and the end
  // of Unload().
  InFlight Begin(BatchPtr batch);

  // Starts to compute and to copy out, unless the batch has failed.
  void Submit(InFlight& in_flight);

  // Waits until the batch is computed, and tells how that ended.
  Computed Await(InFlight& in_flight, BatchTimes& times);

  // Waits until the batch is copied out. It has its result then.
  BatchPtr Unload(InFlight in_flight);

  // Whether a step has lost the device. Any thread.
  bool is_lost() const {
    return lost_.load(std::memory_order_acquire) != nullptr;
  }

 private:
  template <typename Step>
  void Do(InFlight& in_flight, const Step& step);
  void SettleOutput(const InFlight& in_flight);

  DeviceModel& model_;
  const Clock& clock_;
  int64_t begun_ = 0;
  // --- the thread that awaits and unloads ---
  TimePoint last_compute_end_ = TimePoint::min();
  std::vector<OutputRef> lost_outputs_;  // the device may write them for ever
  // The text of the step that lost the device; null: it is not lost.
  std::atomic<const char*> lost_{nullptr};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INTERNAL_DEVICE_PIPELINE_H_
