// DeviceModel is what a DeviceInstance runs: a model on a device with memory of
// its own, which copies in, computes and copies out at once, each in the order
// in which it was told to.
//
// A place is what a batch needs there until it has been copied out: memory of
// the host that the device reads, memory of the device, and events. Places are
// used in turn. The next batch is copied in as soon as one has been computed,
// so there is one place more than batches whose compute has not ended.
//
// What is started on the device is in order by itself: a batch's compute begins
// after its copy in, its copy out after its compute.
//
// Thread safety: CopyIn() and Compute() are called from one thread, both Await
// functions from one other. Errors: an implementation may throw; its batch
// fails.
#ifndef FERRY_BATCHER_DEVICE_MODEL_H_
#define FERRY_BATCHER_DEVICE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "batcher/batch.h"
#include "batcher/completion.h"
#include "batcher/service_time.h"
#include "batcher/statistics.h"
#include "tensor/output_buffer.h"
#include "tensor/tensor.h"

namespace ferry {

// How a step of a batch on the device went.
struct DeviceOutcome {
  Outcome outcome = {};
  // Nothing on the device will succeed any more: only a new process helps.
  bool is_lost = false;

  bool ok() const { return outcome.ok(); }
};

// What the device says of a batch that it has computed. The durations are the
// device's own: without what the batch waited for.
struct DeviceTimes {
  Duration copy_in{0};
  Duration compute{0};
};

class DeviceModel {
 public:
  virtual ~DeviceModel() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual int32_t places() const = 0;  // >= 2

  // Makes the model as fast as it will be, on the thread that starts batches.
  // An error means that it must not serve.
  virtual absl::Status WarmUp() = 0;
  // Why nothing ran in WarmUp() where that is no error; else empty.
  virtual std::string warm_up_failure() const { return ""; }
  virtual absl::Span<const ServiceTimeSample> warm_up_samples() const {
    return {};
  }

  // Thread-safe.
  virtual std::vector<DeviceCount> counts() const { return {}; }

  // --- the thread that starts batches; the device is not waited for ---
  // Gathers the batch's rows into the place and starts to copy them in. When it
  // returns, the received bytes of the requests are no longer needed. Waits for
  // the device only where it still reads there for a batch that has failed.
  virtual DeviceOutcome CopyIn(int32_t place, const Batch& batch) = 0;
  // Starts to compute what was copied in, and to copy out `output`, which has
  // batch.rows() rows of every output once AwaitCopiedOut() has returned.
  virtual DeviceOutcome Compute(int32_t place, const Batch& batch,
                                OutputRef& output) = 0;

  // --- the thread that awaits; batches in the order of their Compute() ---
  virtual DeviceOutcome AwaitComputed(int32_t place, DeviceTimes& times) = 0;
  // Also called for a batch that failed after its Compute() was called, before
  // its output is given back: returns when the device no longer writes it.
  virtual DeviceOutcome AwaitCopiedOut(int32_t place) = 0;
  // For measuring: the device's time from the end of the compute in `before`,
  // the place of the batch before, to the begin of that in `place`; nothing
  // where it does not say. REQUIRES: both were awaited, neither is used anew.
  virtual std::optional<Duration> IdleBetween(int32_t /*before*/,
                                              int32_t /*place*/) {
    return std::nullopt;
  }
};

}  // namespace ferry

#endif  // FERRY_BATCHER_DEVICE_MODEL_H_
