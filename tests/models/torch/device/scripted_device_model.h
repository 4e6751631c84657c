// DeviceModelTest makes a TorchDeviceModel over a lazy device (host_runtime.h)
// whose network is a function of the test, and batches for it.
//
// Thread safety: thread-compatible.
#ifndef FERRY_TESTS_MODELS_TORCH_DEVICE_SCRIPTED_DEVICE_MODEL_H_
#define FERRY_TESTS_MODELS_TORCH_DEVICE_SCRIPTED_DEVICE_MODEL_H_

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/torch/device/torch_device_model.h"
#include "tests/models/torch/device/host_runtime.h"

namespace ferry {

// A network that is a function of the test.
class ScriptedNetwork final : public Network {
 public:
  using Script = std::function<at::Tensor(const Values&)>;

  // What it gives is each of so many outputs.
  ScriptedNetwork(Script script, size_t outputs)
      : script_(std::move(script)), outputs_(outputs) {}

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    outputs.assign(outputs_, script_(inputs));
    return absl::OkStatus();
  }

 private:
  const Script script_;
  const size_t outputs_;
};

// A request of `rows` rows of one input each.
struct TestRows {
  TestRows(int32_t rows, std::vector<int64_t> row_dims,
           std::vector<float> row_values)
      : dims(std::move(row_dims)), values(std::move(row_values)) {
    segment = {reinterpret_cast<const std::byte*>(values.data()),
               values.size() * sizeof(float)};
    view = {.dims = dims, .segments = {&segment, 1}};
    request.inputs = {&view, 1};
    request.rows = rows;
  }

  std::vector<int64_t> dims;
  std::vector<float> values;
  ferry::ByteSegment segment;
  TensorView view;
  InferRequest request;
};

class DeviceModelTest : public ::testing::Test {
 public:
  static std::unique_ptr<Batch> BatchOf(
      const std::vector<TestRows*>& requests) {
    int32_t rows = 0;
    for (TestRows* one : requests) {
      rows += one->request.rows;
    }
    auto batch =
        std::make_unique<Batch>(static_cast<int32_t>(requests.size()), rows);
    for (TestRows* one : requests) {
      batch->Add(one->request);
    }
    batch->Close(TimePoint(), CloseReason::kFull, /*sequence=*/0);
    return batch;
  }

  static std::vector<float> Values32(const OutputRef& output, int32_t rows) {
    const ferry::ByteSegment all = output->tensors()[0].Rows(0, rows);
    const auto* values = reinterpret_cast<const float*>(all.data);
    return {values, values + all.size / sizeof(float)};
  }

 protected:
  DeviceModelTest() {
    options_.name = "m";
    options_.spec = {.inputs = {{"x", DataType::kFp32, {2}}},
                     .outputs = {{"y", DataType::kFp32, {2}}},
                     .max_batch_size = 8};
    options_.precision = Precision::kFp32;
  }

  // Models are gone by then, and what they had started.
  void TearDown() override {
    EXPECT_THAT(runtime_.faults(), ::testing::IsEmpty());
  }

  std::unique_ptr<TorchDeviceModel> Make(ScriptedNetwork::Script script) {
    return std::make_unique<TorchDeviceModel>(
        std::make_unique<ScriptedNetwork>(std::move(script),
                                          options_.spec.outputs.size()),
        options_, runtime_, halves_);
  }

  // All steps of one batch, of one that fails those that DevicePipeline takes.
  DeviceOutcome Play(TorchDeviceModel& model, const Batch& batch,
                     OutputRef& output, int32_t place = 0) {
    DeviceOutcome outcome = model.CopyIn(place, batch);
    if (!outcome.ok()) {
      return outcome;
    }
    outcome = model.Compute(place, batch, output);
    DeviceTimes times;
    if (outcome.ok()) {
      outcome = model.AwaitComputed(place, times);
    }
    const DeviceOutcome copied = model.AwaitCopiedOut(place);
    return outcome.ok() ? copied : outcome;
  }

  static uint64_t Count(const TorchDeviceModel& model,
                        const std::string& event) {
    for (const DeviceCount& one : model.counts()) {
      if (one.event == event) {
        return one.count;
      }
    }
    ADD_FAILURE() << "no count " << event;
    return 0;
  }

  HostRuntime runtime_;
  ModelOptions options_;
  Halves halves_ = Halves::kAllowed;
};

inline at::Tensor Doubled(const Values& inputs) {
  return inputs[0].toTensor() * 2;
}

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_DEVICE_SCRIPTED_DEVICE_MODEL_H_
