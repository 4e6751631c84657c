// What the tests of backends share: a model whose steps are functions, a
// listener that checks the order of what is reported, batches ready to start.
//
// Thread safety: that of what they stand in for.
#ifndef FERRY_TESTS_BATCHER_SCRIPTED_MODEL_H_
#define FERRY_TESTS_BATCHER_SCRIPTED_MODEL_H_

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "batcher/host_backend.h"
#include "batcher/host_output_pool.h"
#include "tests/support/test_request.h"

namespace ferry {

// A model whose steps are functions of the test.
class ScriptedModel final : public HostModel {
 public:
  explicit ScriptedModel(std::function<Outcome(const Batch&)> compute = nullptr)
      : on_compute(std::move(compute)) {}

  const ModelSpec& spec() const override { return spec_of_rows; }
  bool runs_on_any_thread() const override { return on_any_thread; }
  int32_t staging_places() const override { return places; }
  absl::Status WarmUp() override {
    return on_warm_up ? on_warm_up() : absl::OkStatus();
  }
  Outcome Stage(const Batch& batch) override {
    return on_stage ? on_stage(batch) : Outcome{};
  }
  Outcome Compute(const Batch& batch, OutputRef& output) override {
    output = pool_.Take();
    return on_compute ? on_compute(batch) : Outcome{};
  }

  ModelSpec spec_of_rows = RowSpec();
  bool on_any_thread = true;
  int32_t places = 1;
  std::function<absl::Status()> on_warm_up;
  std::function<Outcome(const Batch&)> on_stage;
  std::function<Outcome(const Batch&)> on_compute;

 private:
  HostOutputPool pool_{1, 2};
};

// Counts what a backend reports and checks its order for each batch.
class Events final : public BackendEvents {
 public:
  void Staged(Batch& batch) override {
    EXPECT_EQ(batch.times().compute_end, batch.times().closed);
    ++staged;
  }
  void ComputeEnded(Batch& batch) override {
    EXPECT_LE(batch.times().compute_begin, batch.times().compute_end);
    EXPECT_GE(staged.load(), ended.fetch_add(1) + 1);
    ++lanes_seen[static_cast<size_t>(batch.lane())];
  }
  void SlotFree() override { ++slots_freed; }
  TimePoint LaneAwake() override {
    const int count = ++lanes_awake;
    lanes_awake.notify_all();
    return on_lane_awake ? on_lane_awake(count) : kNever;
  }
  void LaneBusy() override { ++lanes_busy; }
  void Finished(std::unique_ptr<Batch> batch) override {
    EXPECT_GE(ended.load(), finished.load() + 1);
    held_lane = batch->times().holds_lane;
    batch->Resolve(Clock::Steady());
    if (on_finished) {
      on_finished();
    }
    ++finished;
    finished.notify_all();
  }
  void Broken(Outcome) override {
    EXPECT_TRUE(may_break) << "backend said it broke";
    ++broken;
  }

  void WaitForFinished(int count) {
    for (int now = finished; now < count; now = finished) {
      finished.wait(now);
    }
  }

  std::atomic<int> staged{0};
  std::atomic<int> ended{0};
  std::atomic<int> slots_freed{0};
  std::atomic<int> lanes_awake{0};
  std::atomic<int> lanes_busy{0};
  std::atomic<int> finished{0};
  std::atomic<bool> held_lane{false};  // by the last one finished
  bool may_break = false;
  std::atomic<int> broken{0};
  std::array<std::atomic<int>, 2> lanes_seen{};
  std::function<void()> on_finished;
  std::function<TimePoint(int count)> on_lane_awake;
};

// A closed batch of one request, as the batcher makes it.
inline std::unique_ptr<Batch> BatchOf(TestRequest& request) {
  auto batch = std::make_unique<Batch>(1, 64);
  request.request().TakeFirstHolds();
  request.request().GiveBackHold();  // that of Submit()
  batch->Add(request.request());
  batch->Close(Clock::Steady().Now(), CloseReason::kFull);
  return batch;
}

inline std::unique_ptr<HostBackend> MakeBackend(
    std::vector<std::unique_ptr<HostModel>> models,
    const HostBackendOptions& options = {}) {
  auto backend = HostBackend::Create(std::move(models), options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return *std::move(backend);
}

inline std::vector<std::unique_ptr<HostModel>> OneModel(
    std::function<Outcome(const Batch&)> compute = nullptr) {
  std::vector<std::unique_ptr<HostModel>> models;
  models.push_back(std::make_unique<ScriptedModel>(std::move(compute)));
  return models;
}

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_SCRIPTED_MODEL_H_
