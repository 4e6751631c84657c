// StreamBackend: a Backend on a device that copies in, computes and copies out
// at once. One thread starts batches, up to slots() of them before the first
// has ended; one waits for the device; one delivers, so that neither the device
// nor who waits for it stands still while replies are written.
//
// One lane. Where models share the device, a batch is started to compute when
// the gate lets it in; a gate with two permits keeps one batch ready behind the
// one that computes (docs/decisions/0028-streams-of-a-device.md).
//
// Guarantees: those of Backend. A model that throws fails only its batch; a
// device that is lost fails all that follow, and Broken is reported.
//
// Thread safety: Start() from one thread at a time.
#ifndef FERRY_BATCHER_STREAM_BACKEND_H_
#define FERRY_BATCHER_STREAM_BACKEND_H_

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "batcher/backend.h"
#include "batcher/delivery_queue.h"
#include "batcher/device_gate.h"
#include "batcher/flight_queue.h"
#include "batcher/gate_turn.h"
#include "batcher/mutex.h"
#include "batcher/stream_model.h"
#include "batcher/stream_pipeline.h"
#include "batcher/work_queue.h"

namespace ferry {

struct StreamBackendOptions {
  // Batches of so few replies are delivered by the thread that waits for the
  // device: waking another takes longer.
  int32_t max_inline_replies = 2;
  // How long the thread that starts batches may poll before it sleeps
  // (idle_wait.h).
  Duration max_poll = std::chrono::microseconds(250);
  const Clock* clock = &Clock::Steady();  // outlives the backend
  // Whose turn it is where models share the device; outlives the backend.
  // Null: this backend has the device to itself.
  DeviceGate* gate = nullptr;
  double weight = 1;  // at the gate
};

class StreamBackend final : public Backend {
 public:
  // Warms the model up on the thread that will start its batches. Errors: those
  // of StreamModel::WarmUp().
  static absl::StatusOr<std::unique_ptr<StreamBackend>> Create(
      std::unique_ptr<StreamModel> model, const StreamBackendOptions& options);

  ~StreamBackend() override;

  const ModelSpec& spec() const override { return model_->spec(); }
  int32_t lanes() const override { return 1; }
  int32_t slots() const override { return model_->places() - 1; }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return model_->warm_up_samples();
  }
  std::vector<DeviceCount> counts() const override { return model_->counts(); }
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override;

 private:
  StreamBackend(std::unique_ptr<StreamModel> model,
                const StreamBackendOptions& options);

  absl::Status Begin();
  void RunStarts();
  void RunWaits();
  bool DeliversInline(const Batch& batch) const;
  GateTurn& turn_of(const StreamPipeline::Flight& flight) {
    return turns_[static_cast<size_t>(flight.place)];
  }

  const StreamBackendOptions options_;
  const std::unique_ptr<StreamModel> model_;
  OpenGate open_gate_;
  DeviceGate& gate_;
  GateShare share_;
  std::deque<GateTurn> turns_;  // [place]
  StreamPipeline pipeline_;
  WorkQueue to_start_;
  FlightQueue under_way_;
  DeliveryQueue to_deliver_;

  Mutex warm_up_mutex_;
  CondVar warm_up_changed_;
  bool is_warm_ ABSL_GUARDED_BY(warm_up_mutex_) = false;
  absl::Status warm_up_result_ ABSL_GUARDED_BY(warm_up_mutex_);

  std::thread starter_;
  std::thread waiter_;
  std::thread deliverer_;
};

}  // namespace ferry

#endif  // FERRY_BATCHER_STREAM_BACKEND_H_
