// CpuInstance runs a model on this machine's processors: its batcher thread
// pulls a batch, gathers its rows, computes, and pulls the next, while a
// delivery thread writes the replies, unless that is not worth the hand-over.
//
// Guarantees: those of Instance. A model that throws fails only its batch.
//
// Thread safety: thread-compatible; its threads are its own.
#ifndef FERRY_BATCHER_CPU_INSTANCE_H_
#define FERRY_BATCHER_CPU_INSTANCE_H_

#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "batcher/cpu_model.h"
#include "batcher/delivery_thread.h"
#include "batcher/instance.h"

namespace ferry {

class CpuInstance final : public Instance {
 public:
  struct Options {
    // The batcher thread itself delivers a batch of so few replies, or one that
    // computed so fast: to wake the delivery thread takes longer than is won.
    int32_t max_own_replies = 2;
    Duration max_own_compute = Milliseconds(0.3);
  };

  // Starts the batcher thread and warms the model up on it. Errors: those of
  // CpuModel::WarmUp(); INTERNAL where it threw.
  static absl::StatusOr<std::unique_ptr<CpuInstance>> Create(
      std::unique_ptr<CpuModel> model, const Options& options);
  static absl::StatusOr<std::unique_ptr<CpuInstance>> Create(
      std::unique_ptr<CpuModel> model) {
    return Create(std::move(model), Options());
  }

  ~CpuInstance() override;

  const ModelSpec& spec() const override { return model_->spec(); }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return model_->warm_up_samples();
  }
  void Start(Scheduler& scheduler, InstanceId id) override;
  void Join() override;

 private:
  // What Start() gives the batcher thread; null: never started.
  struct Source {
    Scheduler* scheduler = nullptr;
    InstanceId id = 0;
  };

  CpuInstance(std::unique_ptr<CpuModel> model, const Options& options);

  void Run();
  // Gathers and computes; sets the batch's result.
  BatchTimes RunBatch(Batch& batch, bool& has_failed);
  bool IsDeliveredHere(const Batch& batch, Duration compute) const;

  const Options options_;
  const std::unique_ptr<CpuModel> model_;
  // The two below describe its last batch; the batcher thread reads them.
  Duration last_compute_{0};
  int32_t last_rows_ = 0;
  std::promise<absl::Status> warm_;
  std::promise<Source> source_;
  bool is_started_ = false;
  std::unique_ptr<DeliveryThread> delivery_;
  std::thread thread_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_CPU_INSTANCE_H_
