// ScriptedInstances pull from a scheduler without threads; the test moves their
// batches, one step after the other, on its own thread.
//
// A batch is pulled by Pull(); then the test calls Stage(), EndCompute() and
// Finish() for it, in that order, or Complete() for what is left of them. They
// repeat their input, so every request can check its own rows.
//
// Guarantees: those of Instance; a test that asks for something an instance may
// not do fails at once. The destructor completes what is left.
//
// Thread safety: one thread, that of the test.
#ifndef FERRY_TESTS_SUPPORT_SCRIPTED_INSTANCES_H_
#define FERRY_TESTS_SUPPORT_SCRIPTED_INSTANCES_H_

#include <functional>
#include <vector>

#include "batcher/scheduler.h"
#include "tensor/host_output_pool.h"

namespace ferry {

struct ScriptedInstancesOptions {
  ModelSpec spec = {};
  int32_t count = 1;
  int32_t max_in_flight = 1;     // of each
  const Clock* clock = nullptr;  // outlives the instances
  std::vector<ServiceTimeSample> warm_up_samples = {};
};

class ScriptedInstances {
 public:
  explicit ScriptedInstances(const ScriptedInstancesOptions& options);
  ~ScriptedInstances();

  // What the scheduler is created for.
  PulledInstances pulled() const;
  // REQUIRES: before all below; the scheduler outlives the batches.
  void Attach(Scheduler& scheduler);

  // Lets each instance that has room pull until there is nothing for it.
  void Pull();
  // Lets those pull whose thread would: which have not pulled since they had
  // room, were notified, or whose time has come. Returns whether one did.
  bool PullWhatIsDue();
  // Whether PullWhatIsDue() would do something.
  bool IsPullDue() const;
  // When an instance has to pull at the latest.
  TimePoint pull_at() const;

  // Batches that were ever pulled.
  int32_t started_count() const { return started_count_; }
  // Batches that are pulled and not finished, oldest first.
  size_t running_count() const { return running_.size(); }
  const Batch& batch(size_t index) const { return *running_[index].batch; }
  InstanceId instance(size_t index) const { return running_[index].instance; }
  bool is_staged(size_t index) const {
    return running_[index].next != Step::kStage;
  }
  bool is_computed(size_t index) const {
    return running_[index].next == Step::kFinish;
  }
  // Batches whose compute has not ended.
  int32_t computing_count() const;
  // Whether the instance may pull one more.
  bool HasRoom(InstanceId id) const;
  // Held instances do not pull, as if they delivered.
  void set_held(bool is_held) { is_held_ = is_held; }

  // Each does one step of the running batch of that index.
  void Stage(size_t index);
  void EndCompute(size_t index, Outcome outcome = {});
  // Removes the batch from the running ones, then delivers it.
  void Finish(size_t index);

  // The next step of that batch. Its result is `outcome`.
  void Advance(size_t index, Outcome outcome = {});
  // All steps that are left.
  void Complete(size_t index, Outcome outcome = {});
  void CompleteAll();

  // Does what EndCompute() does; the device is lost. REQUIRES: it is staged.
  void Break(size_t index);

  // Whether what delivers has the time to send replies.
  bool has_time = false;

  // Called with each batch that is pulled.
  std::function<void(const Batch&)> on_start;

 private:
  enum class Step { kStage, kEndCompute, kFinish };
  struct Running {
    BatchPtr batch;
    InstanceId instance;
    Step next;
    OutputRef output;
    TimePoint compute_begin;
  };

  Running& Expect(size_t index, Step step);
  void EndCompute(size_t index, Outcome outcome, Computed computed);
  bool IsPullDue(InstanceId id) const;
  void PullOnce(InstanceId id);

  const ScriptedInstancesOptions options_;
  HostOutputPool pool_;
  Scheduler* scheduler_ = nullptr;
  std::vector<Running> running_;
  std::vector<bool> is_waiting_;  // [instance]: its last pull brought nothing
  int32_t started_count_ = 0;
  bool is_held_ = false;
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_SCRIPTED_INSTANCES_H_
