// StreamPipeline: the steps of a batch through a StreamModel, and what is
// reported of each. Who calls them, and when, is the caller's: StreamBackend
// does on threads, the simulated device on a virtual clock.
//
// Life of a flight: Begin() -> Launch() -> Land() -> FreeSlot() -> Unload().
// Flights land in the order in which they began, those that failed on the way
// too.
//
// Once the device is lost, Broken is reported once, and every flight fails
// without touching it.
//
// Thread safety: Begin() and Launch() from one thread, the others from one,
// which may be another; a flight is handed over between them.
#ifndef FERRY_BATCHER_STREAM_PIPELINE_H_
#define FERRY_BATCHER_STREAM_PIPELINE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "batcher/backend.h"
#include "batcher/stream_model.h"
#include "batcher/work_queue.h"

namespace ferry {

class StreamPipeline {
 public:
  // A batch under way. It has a slot until FreeSlot(), its place until the end.
  struct Flight {
    Work work = {};
    int32_t place = 0;
    OutputRef output = {};
    Outcome outcome = {};
    Duration gather{0};
    TimePoint launched = kNever;  // its compute was started, or tried to

    bool is_launched() const { return launched != kNever; }
  };

  // Both outlive it.
  StreamPipeline(StreamModel& model, const Clock& clock);

  // Gathers, and starts to copy in; reports Staged.
  // REQUIRES: fewer than model.places() - 1 flights have a slot.
  Flight Begin(Work work);

  // Starts to compute and to copy out, unless the flight has failed.
  void Launch(Flight& flight);

  // Waits until it is computed; its times are final then.
  void Land(Flight& flight);

  // Reports ComputeEnded, then SlotFree.
  void FreeSlot(Flight& flight);

  // Waits until it is copied out. The batch has its result then, and is to be
  // reported as Finished by the caller.
  Work Unload(Flight flight);

 private:
  template <typename Step>
  void Do(Flight& flight, Step&& step);
  void NoteLost(const Flight& flight);
  void SettleOutput(Flight& flight);
  void DropOutput(Flight& flight);

  StreamModel& model_;
  const Clock& clock_;
  int64_t begun_ = 0;
  // Of the thread that lands and unloads.
  TimePoint last_compute_end_ = TimePoint::min();
  std::vector<OutputRef> lost_outputs_;  // the device may write them for ever
  // That of the step that lost the device; null: it is not.
  std::atomic<const char*> lost_{nullptr};
};

}  // namespace ferry

#endif  // FERRY_BATCHER_STREAM_PIPELINE_H_
