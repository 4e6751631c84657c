// ScriptedCpuModel and ScriptedDeviceModel are models that run functions of the
// test as their steps; Serve() is a scheduler over them.
//
// Thread safety: that of what they stand in for.
#ifndef FERRY_TESTS_BATCHER_SCRIPTED_MODELS_H_
#define FERRY_TESTS_BATCHER_SCRIPTED_MODELS_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "batcher/cpu_instance.h"
#include "batcher/device_instance.h"
#include "batcher/scheduler.h"
#include "tensor/host_output_pool.h"
#include "tests/support/test_request.h"

namespace ferry {

class ScriptedCpuModel final : public CpuModel {
 public:
  explicit ScriptedCpuModel(
      std::function<Outcome(const Batch&)> compute = nullptr)
      : on_compute(std::move(compute)) {}

  const ModelSpec& spec() const override { return spec_; }
  absl::Status WarmUp() override {
    return on_warm_up ? on_warm_up() : absl::OkStatus();
  }
  Outcome Gather(const Batch& batch) override {
    return on_gather ? on_gather(batch) : Outcome{};
  }
  Outcome Compute(const Batch& batch, OutputRef& output) override {
    if (gives_output) {
      output = pool_.Take();
    }
    return on_compute ? on_compute(batch) : Outcome{};
  }

  bool gives_output = true;
  std::function<absl::Status()> on_warm_up;
  std::function<Outcome(const Batch&)> on_gather;
  std::function<Outcome(const Batch&)> on_compute;

 private:
  const ModelSpec spec_ = RowSpec();
  HostOutputPool pool_{1, 2};
};

enum class DeviceStep { kCopyIn, kCompute, kComputed, kCopiedOut };

class ScriptedDeviceModel final : public DeviceModel {
 public:
  using Script = std::function<DeviceOutcome(DeviceStep, int32_t place)>;

  explicit ScriptedDeviceModel(int32_t places, Script script = nullptr)
      : places_(places), script_(std::move(script)) {}

  const ModelSpec& spec() const override { return spec_; }
  int32_t places() const override { return places_; }
  absl::Status WarmUp() override { return warm_up; }
  DeviceOutcome CopyIn(int32_t place, const Batch&) override {
    return Play(DeviceStep::kCopyIn, place);
  }
  DeviceOutcome Compute(int32_t place, const Batch&,
                        OutputRef& output) override {
    output = pool_.Take();
    return Play(DeviceStep::kCompute, place);
  }
  DeviceOutcome AwaitComputed(int32_t place, DeviceTimes& times) override {
    times = {.copy_in = Milliseconds(2), .compute = Milliseconds(3)};
    return Play(DeviceStep::kComputed, place);
  }
  DeviceOutcome AwaitCopiedOut(int32_t place) override {
    return Play(DeviceStep::kCopiedOut, place);
  }

  absl::Status warm_up;

 private:
  DeviceOutcome Play(DeviceStep step, int32_t place) {
    return script_ ? script_(step, place) : DeviceOutcome{};
  }

  const ModelSpec spec_ = RowSpec();
  const int32_t places_;
  const Script script_;
  HostOutputPool pool_{1, 4};
};

// A scheduler over instances of those models, each request a batch of its own
// unless the options say otherwise.
inline std::unique_ptr<Scheduler> Serve(
    std::vector<std::unique_ptr<CpuModel>> models,
    const SchedulerOptions& options = {.max_requests_per_batch = 1}) {
  std::vector<std::unique_ptr<Instance>> instances;
  for (std::unique_ptr<CpuModel>& model : models) {
    auto instance = CpuInstance::Create(std::move(model));
    EXPECT_TRUE(instance.ok()) << instance.status();
    instances.push_back(*std::move(instance));
  }
  auto scheduler = Scheduler::Create(std::move(instances), options);
  EXPECT_TRUE(scheduler.ok()) << scheduler.status();
  return *std::move(scheduler);
}

inline std::unique_ptr<Scheduler> Serve(std::unique_ptr<DeviceModel> model,
                                        const SchedulerOptions& options = {
                                            .max_requests_per_batch = 1}) {
  std::vector<std::unique_ptr<Instance>> instances;
  auto instance = DeviceInstance::Create(std::move(model));
  EXPECT_TRUE(instance.ok()) << instance.status();
  instances.push_back(*std::move(instance));
  auto scheduler = Scheduler::Create(std::move(instances), options);
  EXPECT_TRUE(scheduler.ok()) << scheduler.status();
  return *std::move(scheduler);
}

inline std::vector<std::unique_ptr<CpuModel>> OneModel(
    std::unique_ptr<CpuModel> model) {
  std::vector<std::unique_ptr<CpuModel>> models;
  models.push_back(std::move(model));
  return models;
}

inline std::vector<std::unique_ptr<CpuModel>> OneModel(
    std::function<Outcome(const Batch&)> compute = nullptr) {
  return OneModel(std::make_unique<ScriptedCpuModel>(std::move(compute)));
}

}  // namespace ferry

#endif  // FERRY_TESTS_BATCHER_SCRIPTED_MODELS_H_
