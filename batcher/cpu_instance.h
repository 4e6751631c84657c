// CpuInstance runs a model on this machine's processors: its batcher thread
// pulls a batch, gathers its rows, computes, delivers, and pulls the next.
//
// Guarantees: those of Instance. A model that throws fails only its batch; a
// batch that fails with INTERNAL is run again in halves, so that only requests
// that fail alone do, as long as there is RerunCredit.
//
// Thread safety: thread-compatible; its thread is its own.
#ifndef FERRY_BATCHER_CPU_INSTANCE_H_
#define FERRY_BATCHER_CPU_INSTANCE_H_

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "batcher/cpu_model.h"
#include "batcher/instance.h"
#include "batcher/internal/batcher_thread.h"

namespace ferry {

// RerunCredit bounds for how long batches that failed are run again: a quarter
// of the time in which others succeeded, and kMost, which is also what is there
// at first and saved at most. A batch whose run took longer than what is left
// is not run again.
//
// Thread safety: thread-compatible.
class RerunCredit {
 public:
  static constexpr Duration kMost = std::chrono::seconds(1);
  static constexpr int kShare = 4;

  bool Covers(Duration took) const { return left_ >= took; }
  void Succeeded(Duration took) {
    left_ = std::min(kMost, left_ + took / kShare);
  }
  void RanAgain(Duration took) { left_ -= took; }

 private:
  Duration left_ = kMost;
};

class CpuInstance final : public Instance {
 public:
  // Starts the batcher thread and warms the model up on it. Errors: those of
  // CpuModel::WarmUp(); INTERNAL where it threw.
  static absl::StatusOr<std::unique_ptr<CpuInstance>> Create(
      std::unique_ptr<CpuModel> model);

  InstanceDescription Describe() const override;
  void Start(Scheduler& scheduler, InstanceId id) override {
    thread_.Start(scheduler, id);
  }
  void Join() override { thread_.Join(); }

 private:
  explicit CpuInstance(std::unique_ptr<CpuModel> model);

  void Run(Scheduler& scheduler, InstanceId id);
  // Gathers and computes; sets the batch's result.
  BatchTimes RunBatch(Batch& batch, Computed& computed);
  BatchTimes RunOnce(Batch& batch);
  // Whether one request of a batch that failed after so long may have spoiled
  // the others.
  bool MustHalve(const Batch& batch, Duration took) const {
    return batch.outcome().code == absl::StatusCode::kInternal &&
           batch.entries().size() > 1 && rerun_credit_.Covers(took);
  }
  // Runs the halves of a batch, and of each that fails, and appends those that
  // have their result.
  void RunHalves(const Batch& failed, Batch::Reruns& reruns);

  const std::unique_ptr<CpuModel> model_;
  RerunCredit rerun_credit_;  // its thread's
  BatcherThread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_CPU_INSTANCE_H_
