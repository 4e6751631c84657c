// Instance is one copy of a model's execution: a batcher thread that pulls a
// batch from the scheduler, runs it on the device, delivers the replies, and
// pulls the next.
//
// What an instance does for each batch that Scheduler::NextBatch() returned to
// it: Scheduler::Finished() when its compute has ended, also where it failed,
// and then Deliver(), each once. Where the device is lost in between, it calls
// Scheduler::DeviceLost() before Deliver().
//
// CpuInstance runs a model on this machine's processors, DeviceInstance on a
// device with streams.
#ifndef FERRY_BATCHER_INSTANCE_H_
#define FERRY_BATCHER_INSTANCE_H_

#include <cstdint>
#include <vector>

#include "batcher/batch.h"
#include "batcher/service_time.h"
#include "batcher/statistics.h"
#include "tensor/tensor.h"

namespace ferry {

class Scheduler;

// What the instances of one model have in common.
struct InstanceDescription {
  ModelSpec spec = {};
  // Batches that one pulls before the first of them has computed: more than one
  // where it copies the next batch in meanwhile.
  int32_t max_in_flight = 1;
  // How long batches took before the first was pulled; may be none.
  std::vector<ServiceTimeSample> warm_up_samples = {};
};

class Instance {
 public:
  // REQUIRES: never started, or joined.
  virtual ~Instance() = default;

  virtual InstanceDescription Describe() const = 0;

  // What its device has counted since it was made. Any thread.
  virtual std::vector<DeviceCount> counts() const { return {}; }

  // Pulls batches from now on, until the scheduler is stopped. `scheduler`
  // outlives the instance's threads.
  virtual void Start(Scheduler& scheduler, InstanceId id) = 0;

  // Waits until its threads have ended: all it pulled is delivered. REQUIRES:
  // the scheduler is stopped.
  virtual void Join() = 0;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_INSTANCE_H_
