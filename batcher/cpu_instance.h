// CpuInstance runs a model on this machine's processors: its batcher thread
// pulls a batch, gathers its rows, computes, delivers, and pulls the next.
//
// Guarantees: those of Instance. A model that throws fails only its batch.
//
// Thread safety: thread-compatible; its thread is its own.
#ifndef FERRY_BATCHER_CPU_INSTANCE_H_
#define FERRY_BATCHER_CPU_INSTANCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "batcher/cpu_model.h"
#include "batcher/instance.h"
#include "batcher/internal/batcher_thread.h"

namespace ferry {

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

  const std::unique_ptr<CpuModel> model_;
  BatcherThread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_CPU_INSTANCE_H_
