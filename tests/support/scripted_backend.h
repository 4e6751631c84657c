// ScriptedBackend: a Backend whose batches the test moves, one step after the
// other, on the test's own thread.
//
// A batch is started by the batcher; then the test calls Stage(), EndCompute(),
// FreeSlot() and Finish() for it, in that order, or Complete() for what is left
// of them. It repeats its input, so every request can check its own rows.
//
// Guarantees: those of Backend; a test that asks for something a backend may
// not do fails at once. The destructor completes what is left.
//
// Thread safety: one thread, that of the test.
#ifndef FERRY_TESTS_SUPPORT_SCRIPTED_BACKEND_H_
#define FERRY_TESTS_SUPPORT_SCRIPTED_BACKEND_H_

#include <functional>
#include <memory>
#include <vector>

#include "batcher/backend.h"
#include "batcher/host_output_pool.h"

namespace ferry {

struct ScriptedBackendOptions {
  ModelSpec spec = {};
  int32_t lanes = 1;
  int32_t slots = 1;
  bool starts_only_full_ahead = false;
  const Clock* clock = nullptr;  // outlives the backend
  std::vector<ServiceTimeSample> warm_up_samples = {};
  Duration max_inline_run{0};
  Duration max_poll{0};
};

class ScriptedBackend final : public Backend {
 public:
  explicit ScriptedBackend(const ScriptedBackendOptions& options);
  ~ScriptedBackend() override;

  const ModelSpec& spec() const override { return options_.spec; }
  int32_t lanes() const override { return options_.lanes; }
  int32_t slots() const override { return options_.slots; }
  bool starts_only_full_ahead() const override {
    return options_.starts_only_full_ahead;
  }
  absl::Span<const ServiceTimeSample> warm_up_samples() const override {
    return options_.warm_up_samples;
  }
  Duration max_inline_run() const override { return options_.max_inline_run; }
  Duration max_poll() const override { return options_.max_poll; }
  // Where no batch is running, steps, and says that it ran what that starts;
  // which is the test's.
  InlineRun RunInline(absl::FunctionRef<void()> step) override;
  void Start(std::unique_ptr<Batch> batch, BackendEvents& events) override;

  // How often RunInline() stepped.
  int inline_count() const { return inline_count_; }
  // Batches that were ever started.
  int32_t started_count() const { return started_count_; }
  // Batches that are started and not finished, oldest first.
  size_t running_count() const { return running_.size(); }
  const Batch& batch(size_t index) const { return *running_[index].batch; }
  bool is_staged(size_t index) const {
    return running_[index].next != Step::kStage;
  }
  bool is_computed(size_t index) const {
    return is_staged(index) && running_[index].next != Step::kEndCompute;
  }
  int32_t free_slots() const { return options_.slots - used_slots_; }

  // Each does one step of the running batch of that index.
  void Stage(size_t index);
  void EndCompute(size_t index, Outcome outcome = {});
  void FreeSlot(size_t index);
  // Removes the batch from the running ones, then ends its requests.
  void Finish(size_t index);

  // The next step of that batch. Its result is `outcome`.
  void Advance(size_t index, Outcome outcome = {});
  // All steps that are left.
  void Complete(size_t index, Outcome outcome = {});
  void CompleteAll();

  // Reports the device as lost. REQUIRES: a batch was ever started.
  void Break();

  // Called by RunInline() after its step.
  std::function<void()> on_inline;
  // Called by Start() with the batch before it is taken.
  std::function<void(const Batch&)> on_start;

 private:
  enum class Step { kStage, kEndCompute, kFreeSlot, kFinish };
  struct Running {
    std::unique_ptr<Batch> batch;
    Step next;
    OutputRef output;
  };

  Running& Expect(size_t index, Step step);

  const ScriptedBackendOptions options_;
  HostOutputPool pool_;
  std::vector<Running> running_;
  BackendEvents* events_ = nullptr;
  int32_t used_slots_ = 0;
  int32_t started_count_ = 0;
  int inline_count_ = 0;
};

}  // namespace ferry

#endif  // FERRY_TESTS_SUPPORT_SCRIPTED_BACKEND_H_
