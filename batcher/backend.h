// Backend runs batches on a device; BackendEvents is how it reports.
//
// Life of a batch in a backend: Start() takes it and returns at once. For each
// batch the backend then reports Staged, ComputeEnded and Finished, in this
// order, also when the batch fails (at the times it reached). Between them, or
// right after, it reports SlotFree when it can take one more batch.
//
// Guarantees of an implementation:
//   1. Every started batch is finished exactly once, whatever the model does.
//   2. Nothing is thrown out of it, and Start() never blocks.
//   3. It never holds more batches than slots(), counted from Start() to
//      SlotFree().
//   4. Its destructor waits until every started batch is finished.
//
// Slot and lane: a slot is a staging place, a lane the right to compute. With
// more slots than lanes the next batch is staged while one computes.
#ifndef FERRY_BATCHER_BACKEND_H_
#define FERRY_BATCHER_BACKEND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "batcher/batch.h"
#include "batcher/clock.h"
#include "batcher/device_count.h"
#include "batcher/service_time_model.h"
#include "batcher/tensor.h"

namespace ferry {

// Implemented by Batcher. Thread safety: called from any thread of the backend.
class BackendEvents {
 public:
  // The received bytes of the batch's requests are no longer read.
  virtual void Staged(Batch& batch) = 0;
  // times() of the batch are final.
  virtual void ComputeEnded(Batch& batch) = 0;
  // The backend can take one more batch.
  virtual void SlotFree() = 0;
  // The batch has its result (Batch::SetResult). Ends its requests, on this
  // thread.
  virtual void Finished(std::unique_ptr<Batch> batch) = 0;
  // A lane that Backend::WakeLane() woke is awake: a batch that closes now
  // takes along what arrived meanwhile. Returns when the lane calls again if it
  // still has no work then; kNever where it need not.
  virtual TimePoint LaneAwake() = 0;
  // The lane has work and will not call at the moment that it was given.
  virtual void LaneBusy() = 0;
  // The device is lost for good: nothing more will succeed.
  virtual void Broken(Outcome why) = 0;

 protected:
  ~BackendEvents() = default;
};

// What came of Backend::RunInline().
enum class InlineRun {
  kNotLent,  // no step was done: the lane has work, or waits for it awake
  kStepped,  // and this started nothing here
  kRan,      // a batch, on this thread
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual int32_t lanes() const = 0;
  virtual int32_t slots() const = 0;  // >= lanes()

  // Whether only a full batch is worth a start before a lane is free for it: to
  // stage takes so little that a batch which can grow wins more by growing.
  virtual bool starts_only_full_ahead() const { return false; }

  // How long batches took before the first was started; may be none.
  virtual absl::Span<const ServiceTimeSample> warm_up_samples() const {
    return {};
  }

  // Of its device, if it has one, since it was made. Any thread.
  virtual std::vector<DeviceCount> counts() const { return {}; }

  // Wakes a lane that polls or sleeps for work, which then calls
  // events.LaneAwake(); once for all calls until it does. False: none does. Any
  // thread; never blocks.
  virtual bool WakeLane(BackendEvents& /*events*/) { return false; }

  // How long a batch may be expected to take for RunInline() to be worth a
  // call; 0: never.
  virtual Duration max_inline_run() const { return Duration(0); }

  // Where the only lane is idle and sleeps, calls step(), and runs a batch that
  // this starts on the calling thread, replies included as far as the lane
  // would have written them itself. Any thread; waits for nobody. REQUIRES: not
  // called in step(), nor in an event of the backend.
  virtual InlineRun RunInline(absl::FunctionRef<void()> /*step*/) {
    return InlineRun::kNotLent;
  }

  // How long a thread that RunInline() made run a batch may poll for the next.
  virtual Duration max_poll() const { return Duration(0); }

  // Called by one thread at a time, which may be any.
  // REQUIRES: fewer than slots() batches are in it; `events` outlives it.
  virtual void Start(std::unique_ptr<Batch> batch, BackendEvents& events) = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_BACKEND_H_
