// HostBackend: a Backend on this machine's processors. One executor thread a
// lane stages and computes; one more thread delivers, so that a lane computes
// the next batch while the replies of the last are written, unless that is not
// worth the hand-over. Where the only lane has two slots or more, another
// thread stages what comes while it computes, so that it goes from one batch to
// the next. A lane that is the only one, and whose executor sleeps, is lent to
// a thread that brings a short batch and has nothing else to do (RunInline()):
// to wake the executor would take as long.
//
// Guarantees: those of Backend. A model that throws fails only its batch. A
// lane runs one batch at a time, whoever runs it.
//
// Thread safety: Start() from one thread at a time, WakeLane() and RunInline()
// from any.
#ifndef FERRY_BATCHER_HOST_BACKEND_H_
#define FERRY_BATCHER_HOST_BACKEND_H_

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "batcher/backend.h"
#include "batcher/delivery_queue.h"
#include "batcher/device_gate.h"
#include "batcher/gate_turn.h"
#include "batcher/host_model.h"
#include "batcher/mutex.h"
#include "batcher/work_queue.h"

namespace ferry {

struct HostBackendOptions {
  // >= 1. Of the only lane, batches are staged ahead where there are several
  // and the model has as many staging_places().
  int32_t slots_per_lane = 1;
  // An executor delivers a batch of so few replies itself, or one that it
  // computed so fast: waking the deliverer would take longer than is won. A
  // slow one after a fast one of half its rows or more counts as fast: others
  // had the processor meanwhile, and one more thread that wants it does not
  // help.
  int32_t max_inline_replies = 2;
  Duration max_inline_compute = Milliseconds(0.3);
  // RunInline() is for batches that are expected to take at most that, where
  // the model has one lane, with one slot or staged ahead, runs on any thread,
  // and has rows of one size, so that the expected time is known.
  Duration max_inline_run = std::chrono::microseconds(300);
  // How long a lane that has worked may poll for the next batch before it
  // sleeps (idle_wait.h).
  Duration max_poll = std::chrono::microseconds(250);
  const Clock* clock = &Clock::Steady();  // outlives the backend
  // Whose turn it is where models share the device; outlives the backend.
  // Null: this backend has the device to itself.
  DeviceGate* gate = nullptr;
  double weight = 1;  // at the gate
};

class HostBackend final : public Backend {
 public:
  // Starts one lane for each model and warms it up there. REQUIRES: at least
  // one model; all have the same spec(). Errors: those of WarmUp().
  static absl::StatusOr<std::unique_ptr<HostBackend>> Create(
      std::vector<std::unique_ptr<HostModel>> models,
      const HostBackendOptions& options);

  ~HostBackend() override;

  const ModelSpec& spec() const override { return models_.front()->spec(); }
  int32_t lanes() const override {
    return static_cast<int32_t>(models_.size());
  }
  int32_t slots() const override { return lanes() * options_.slots_per_lane; }
  bool starts_only_full_ahead() const override { return stages_ahead_; }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return models_.front()->warm_up_samples();
  }
  bool WakeLane(BackendEvents& events) override {
    return to_compute_.WakeOne(events);
  }
  Duration max_inline_run() const override { return max_inline_run_; }
  Duration max_poll() const override { return options_.max_poll; }
  InlineRun RunInline(absl::FunctionRef<void()> step) override;
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override;

 private:
  // One executor thread's model, and its place at the gate.
  struct Lane {
    Lane(HostModel& its_model, GateShare& share)
        : model(its_model), turn(share) {}

    HostModel& model;
    // Held by who runs a batch on the lane, or is about to.
    Mutex mutex;
    GateTurn turn ABSL_GUARDED_BY(mutex);
    // Of its last batch.
    int32_t last_rows ABSL_GUARDED_BY(mutex) = 0;
    Duration last_compute ABSL_GUARDED_BY(mutex) = Duration(0);
  };

  HostBackend(std::vector<std::unique_ptr<HostModel>> models,
              const HostBackendOptions& options);

  absl::Status StartLanes();
  void RunLane(int32_t index);
  void RunStaging();
  void Stage(HostModel& model, Work& work);
  void FreeSlots(BackendEvents& events);
  void RunBatch(Lane& lane, Work work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.mutex);
  Outcome Compute(Lane& lane, Batch& batch, OutputRef& output)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.mutex);
  // What the step started here, if the device lets it in at once.
  InlineRun RunStarted(Lane& lane, Work work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.mutex);
  bool DeliversInline(const Lane& lane, const Batch& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.mutex);

  const HostBackendOptions options_;
  const std::vector<std::unique_ptr<HostModel>> models_;
  OpenGate open_gate_;
  DeviceGate& gate_;
  GateShare share_;
  std::deque<Lane> lanes_;
  const bool stages_ahead_;
  const Duration max_inline_run_;
  int64_t started_ = 0;  // batches; whoever starts them
  std::atomic<int64_t> staged_{0};
  // Started, and not computed.
  std::atomic<int32_t> in_flight_{0};
  // Free, and not reported: who reports one is behind the compute that had it.
  std::atomic<int32_t> owed_slots_{0};
  // The thread whose call of RunInline() steps, and what it started there.
  std::atomic<std::thread::id> inline_thread_{};
  Work inline_work_;  // that thread's
  WorkQueue to_stage_;
  WorkQueue to_compute_;
  DeliveryQueue to_deliver_;

  Mutex warm_up_mutex_;
  CondVar warm_up_changed_;
  std::vector<absl::Status> warm_up_results_ ABSL_GUARDED_BY(warm_up_mutex_);

  std::vector<std::thread> executors_;
  std::thread stager_;  // where batches are staged ahead
  std::thread deliverer_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_HOST_BACKEND_H_
