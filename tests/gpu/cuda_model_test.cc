// Tests that networks on a device give the processor's values, as graphs and
// not, and that they multiply matrices in bf16.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "models/torch/networks/network_factory.h"
#include "tests/gpu/cuda_test.h"
#include "tests/gpu/graph_kernels.h"
#include "tests/gpu/kernel_names.h"

namespace ferry {
namespace {

class CudaModelTest : public CudaNetworkTest {
 protected:
  static at::Tensor Run(DeviceModel& model, const Batch& batch,
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
};

TEST_P(CudaModelTest, AgreesWithTheProcessorInEachBucket) {
  const ModelOptions exact = OptionsOf(GetParam().network, Precision::kFp32);
  const auto model = OnDevice(options_);
  for (const int32_t rows : {8, 1, 2, 3, 8}) {
    const DifferentRows batch(options_.spec, rows, static_cast<uint32_t>(rows));
    const at::Tensor there = Run(*model, batch.batch());
    const at::Tensor here = RunOnProcessor(exact, batch.batch());
    EXPECT_LE(LargestError(there, here), GetParam().tolerance) << rows;
    // Those of the processor are: network_tolerance_test.
    EXPECT_GT(SmallestDifference(there), GetParam().tolerance) << rows;
  }
  EXPECT_EQ(Count(*model, "graph_launched"), 5);
  EXPECT_EQ(Count(*model, "no_graph"), 0);
}

// Each in a place of its own, all started before the first is awaited.
TEST_P(CudaModelTest, BatchesInFlightKeepApart) {
  const ModelOptions exact = OptionsOf(GetParam().network, Precision::kFp32);
  const auto model = OnDevice(options_);
  std::vector<std::unique_ptr<DifferentRows>> batches;
  std::vector<OutputRef> outputs(static_cast<size_t>(model->places()));
  for (int32_t i = 0; i < model->places(); ++i) {
    batches.push_back(std::make_unique<DifferentRows>(
        options_.spec, 2 + i, static_cast<uint32_t>(100 + i)));
    const Batch& batch = batches.back()->batch();
    ASSERT_TRUE(model->CopyIn(i, batch).ok());
    ASSERT_TRUE(model->Compute(i, batch, outputs[static_cast<size_t>(i)]).ok());
  }
  for (int32_t i = 0; i < model->places(); ++i) {
    const auto at = static_cast<size_t>(i);
    DeviceTimes times;
    ASSERT_TRUE(model->AwaitComputed(i, times).ok());
    ASSERT_TRUE(model->AwaitCopiedOut(i).ok());
    const Batch& batch = batches[at]->batch();
    EXPECT_LE(LargestError(TensorOf(outputs[at], batch.rows()),
                           RunOnProcessor(exact, batch)),
              GetParam().tolerance)
        << i;
  }
}

TEST_P(CudaModelTest, IsTheSameWithoutGraphs) {
  const DifferentRows rows(options_.spec, 4, /*seed=*/2);
  const at::Tensor with = Run(*OnDevice(options_), rows.batch());
  ModelOptions options = options_;
  options.use_graphs = false;
  const auto model = OnDevice(options);
  const at::Tensor without = Run(*model, rows.batch());
  EXPECT_LE(LargestError(with, without), GetParam().tolerance);
  EXPECT_GT(SmallestDifference(without), GetParam().tolerance);
  EXPECT_EQ(Count(*model, "graphs_off"), 1);
}

TEST_P(CudaModelTest, MultipliesMatricesInBf16) {
  const auto network = MakeNetwork(options_, "", TheDevice().device());
  ASSERT_TRUE(network.ok()) << network.status();
  Values inputs;
  for (const TensorSpec& input : options_.spec.inputs) {
    std::vector<int64_t> sizes = {kMostRows};
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
  int of_bf16 = 0;
  std::vector<std::string> of_others;
  for (const std::string& name : KernelNames(graph.raw_cuda_graph())) {
    if (!IsMatrixKernel(name)) {
      continue;
    }
    if (IsOfBf16(name)) {
      ++of_bf16;
    } else {
      of_others.push_back(name);
    }
  }
  EXPECT_GE(of_bf16, GetParam().matrix_products)
      << ::testing::PrintToString(KernelNames(graph.raw_cuda_graph()));
  EXPECT_LE(std::ssize(of_others), GetParam().fp32_matrix_products)
      << ::testing::PrintToString(of_others);
}

INSTANTIATE_TEST_SUITE_P(Networks, CudaModelTest,
                         ::testing::ValuesIn(kNetworkCases),
                         [](const auto& one) {
                           return std::string(one.param.network);
                         });

}  // namespace
}  // namespace ferry
