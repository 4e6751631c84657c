// Networks on a device: their values beside the processor's, as graphs and not,
// in bf16, without memory that is allocated in steady state.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/cuda_device.h"
#include "models/made_up_row.h"
#include "models/torch/device/device_model.h"
#include "models/torch/networks/network_factory.h"
#include "models/torch/torch_entry.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/kernel_names.h"

namespace ferry {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

CudaDevice& TheDevice() {
  static const auto device = CudaDevice::Open(/*memory_fraction=*/0.9);
  TORCH_CHECK(device.ok(), std::string(device.status().message()));
  return **device;
}

struct Case {
  const char* network;
  double tolerance;  // of bf16 against fp32, of values of the order of 1
};

ModelOptions OptionsOf(const std::string& network, Precision precision) {
  ModelOptions options;
  options.name = network;
  options.backend = BackendKind::kNetwork;
  options.network = network;
  options.precision = precision;
  options.spec.max_batch_size = 8;
  options.buckets = {1, 2, 4, 8};
  if (network == "mlp") {
    options.widths = {256, 512, 10};
    options.spec.inputs = {{"input", DataType::kFp32, {256}}};
    options.spec.outputs = {{"output", DataType::kFp32, {10}}};
  } else if (network == "resnet50") {
    options.spec.inputs = {{"input", DataType::kFp32, {3, 224, 224}}};
    options.spec.outputs = {{"output", DataType::kFp32, {1000}}};
  } else {
    options.spec.inputs = {{"input_ids", DataType::kInt64, {32}},
                           {"attention_mask", DataType::kInt64, {32}}};
    options.spec.outputs = {{"embedding", DataType::kFp32, {384}}};
  }
  return options;
}

at::Tensor TensorOf(const OutputRef& output, int32_t rows) {
  const ferry::Run all = output->tensors()[0].Rows(0, rows);
  const at::Tensor values =
      at::empty({rows, static_cast<int64_t>(all.size / sizeof(float)) / rows});
  std::memcpy(values.data_ptr(), all.data, all.size);
  return values;
}

class CudaModelTest : public DeviceTest,
                      public ::testing::WithParamInterface<Case> {
 protected:
  static std::unique_ptr<StreamModel> OnDevice(const ModelOptions& options) {
    StreamModelOrStatus model = absl::InternalError("not loaded");
    FerryLoadDeviceModel(options, "", TheDevice(), model);
    TORCH_CHECK(model.ok(), std::string(model.status().message()));
    const absl::Status status = (*model)->WarmUp();
    TORCH_CHECK(status.ok(), std::string(status.message()));
    return *std::move(model);
  }

  static at::Tensor Run(StreamModel& model, const Batch& batch,
                        int32_t place = 0) {
    OutputRef output;
    DeviceTimes times;
    EXPECT_TRUE(model.CopyIn(place, batch).ok());
    EXPECT_TRUE(model.Compute(place, batch, output).ok());
    EXPECT_TRUE(model.AwaitComputed(place, times).ok());
    EXPECT_TRUE(model.AwaitCopiedOut(place).ok());
    EXPECT_GT(times.compute, Duration(0));
    return TensorOf(output, batch.rows());
  }

  static at::Tensor RunHere(const ModelOptions& options, const Batch& batch) {
    HostModelsOrStatus lanes = absl::InternalError("not loaded");
    FerryLoadTorchModels(options, "", lanes);
    TORCH_CHECK(lanes.ok(), std::string(lanes.status().message()));
    OutputRef output;
    EXPECT_TRUE(lanes->front()->Stage(batch).ok());
    EXPECT_TRUE(lanes->front()->Compute(batch, output).ok());
    return TensorOf(output, batch.rows());
  }

  static uint64_t Count(const StreamModel& model, const std::string& event) {
    for (const DeviceCount& one : model.counts()) {
      if (one.event == event) {
        return one.count;
      }
    }
    ADD_FAILURE() << "no count " << event;
    return 0;
  }
};

TEST_P(CudaModelTest, AgreesWithTheProcessorInEachBucket) {
  const ModelOptions options = OptionsOf(GetParam().network, Precision::kBf16);
  const ModelOptions exact = OptionsOf(GetParam().network, Precision::kFp32);
  const auto model = OnDevice(options);
  const std::vector<RowInput> row = RandomRow(options.spec, 32);
  for (const int32_t rows : {1, 2, 3, 8}) {
    const RowRequests requests(options.spec, row, rows);
    const at::Tensor there = Run(*model, requests.batch());
    const at::Tensor here = RunHere(exact, requests.batch());
    EXPECT_LE((there - here).abs().max().item<double>(), GetParam().tolerance)
        << rows;
  }
  EXPECT_EQ(Count(*model, "graph_launched"), 4);
  EXPECT_EQ(Count(*model, "no_graph"), 0);
}

TEST_P(CudaModelTest, IsTheSameWithoutGraphs) {
  ModelOptions options = OptionsOf(GetParam().network, Precision::kBf16);
  const std::vector<RowInput> row = RandomRow(options.spec, 32);
  const RowRequests requests(options.spec, row, 4);
  const at::Tensor with = Run(*OnDevice(options), requests.batch());
  options.use_graphs = false;
  const auto model = OnDevice(options);
  const at::Tensor without = Run(*model, requests.batch());
  EXPECT_LE((with - without).abs().max().item<double>(), GetParam().tolerance);
  EXPECT_EQ(Count(*model, "graphs_off"), 1);
}

TEST_P(CudaModelTest, AllocatesNothingOnTheDeviceInSteadyState) {
  const ModelOptions options = OptionsOf(GetParam().network, Precision::kBf16);
  const auto model = OnDevice(options);
  const std::vector<RowInput> row = RandomRow(options.spec, 32);
  const RowRequests requests(options.spec, row, 8);
  const auto allocated = [] {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(0)
        .allocation[0]
        .allocated;
  };
  for (int32_t i = 0; i < 2 * model->places(); ++i) {
    Run(*model, requests.batch(), i % model->places());
  }
  const int64_t before = allocated();
  for (int32_t i = 0; i < 30; ++i) {
    Run(*model, requests.batch(), i % model->places());
  }
  EXPECT_EQ(allocated(), before);
}

// cuBLAS and cuDNN name the type in words, or, those for Hopper and newer, by a
// letter: nvjet_t.. is of bf16, nvjet_s.. of fp32.
TEST_P(CudaModelTest, MultipliesMatricesInBf16) {
  ModelOptions options = OptionsOf(GetParam().network, Precision::kBf16);
  const auto network = MakeNetwork(options, "", TheDevice().device());
  ASSERT_TRUE(network.ok()) << network.status();
  Values inputs;
  for (const TensorSpec& input : options.spec.inputs) {
    std::vector<int64_t> sizes = {8};
    sizes.insert(sizes.end(), input.dims.begin(), input.dims.end());
    inputs.emplace_back(at::ones(
        sizes, at::TensorOptions(TheDevice().device())
                   .dtype(input.type == DataType::kInt64 ? at::kLong
                                                         : at::kBFloat16)));
  }
  const c10::InferenceMode no_gradients;
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  Values outputs;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((*network)->Forward(inputs, outputs).ok());
    outputs.clear();
  }
  at::cuda::CUDAGraph graph(/*keep_graph=*/true);
  graph.capture_begin();
  ASSERT_TRUE((*network)->Forward(inputs, outputs).ok());
  graph.capture_end();
  EXPECT_THAT(KernelNames(graph.raw_cuda_graph()),
              Contains(AnyOf(HasSubstr("bf16"), HasSubstr("nvjet_t"),
                             HasSubstr("bfloat16"))));
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaModelTest,
                         ::testing::Values(Case{"mlp", 0.05},
                                           Case{"resnet50", 0.3},
                                           Case{"encoder", 0.02}));

}  // namespace
}  // namespace ferry
