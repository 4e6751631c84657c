// Tests that TorchScript modules with convolutions on a device get channels
// last where that changes nothing, and give the processor's values either way.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "models/torch/script/torch_script.h"
#include "tests/gpu/cuda_test.h"
#include "tests/gpu/graph_kernels.h"
#include "tests/gpu/kernel_names.h"
#include "tests/models/temp_folder.h"

namespace ferry {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kTolerance = 0.02;  // as of networks in bf16

class CudaScriptTest : public DeviceTest {
 protected:
  CudaScriptTest() {
    options_.name = "m";
    options_.spec = {.inputs = {{"x", DataType::kFp32, {3, 32, 32}}},
                     .outputs = {{"y", DataType::kFp32, {16, 32, 32}}},
                     .max_batch_size = kMostRows};
    options_.buckets = {1, 2, 4, 8};
  }

  // Two convolutions, and what follows them.
  std::string Save(const std::string& end) {
    torch::jit::Module module("m");
    at::manual_seed(3);
    module.register_parameter("v", at::randn({32, 3, 3, 3}) / 5, false);
    module.register_parameter("w", at::randn({16, 32, 3, 3}) / 17, false);
    module.define(
        "def forward(self, x):\n"
        "  y = torch.relu(torch.conv2d(x, self.v, None, [1, 1], [1, 1]))\n"
        "  y = torch.conv2d(y, self.w, None, [1, 1], [1, 1])\n" +
        end);
    std::string path = folder_.path("model.pt");
    module.save(path);
    return path;
  }

  std::unique_ptr<Network> OnDevice(const std::string& path) {
    ModelOptions completed = options_;
    LoadReport report;
    auto network = LoadTorchScript(path, completed,
                                   {.device = TheDevice().device()}, report);
    EXPECT_TRUE(network.ok()) << network.status();
    return network.ok() ? *std::move(network) : nullptr;
  }

  void ExpectAgreesWithTheProcessor(const std::string& path) {
    DeviceModelOrStatus loaded = absl::InternalError("not loaded");
    LoadReport report;
    FerryLoadDeviceModel(options_, path, TheDevice(), report, loaded);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    DeviceModel& model = **loaded;
    ASSERT_TRUE(model.WarmUp().ok());
    ModelOptions exact = options_;
    exact.precision = Precision::kFp32;
    for (const int32_t rows : {8, 1, 3}) {
      const DifferentRows batch(options_.spec, rows, /*seed=*/1);
      OutputRef output;
      DeviceTimes times;
      ASSERT_TRUE(model.CopyIn(0, batch.batch()).ok());
      ASSERT_TRUE(model.Compute(0, batch.batch(), output).ok());
      ASSERT_TRUE(model.AwaitComputed(0, times).ok());
      ASSERT_TRUE(model.AwaitCopiedOut(0).ok());
      EXPECT_LE(LargestError(TensorOf(output, rows),
                             RunOnProcessor(exact, batch.batch(), path)),
                kTolerance)
          << rows;
    }
    EXPECT_EQ(Count(model, "graph_launched"), 3);
  }

  const TempFolder folder_;
  ModelOptions options_;
};

TEST_F(CudaScriptTest, ConvolutionsAreGivenChannelsLast) {
  const std::string path = Save("  return y\n");
  EXPECT_TRUE(OnDevice(path)->takes_channels_last(0));
  ExpectAgreesWithTheProcessor(path);
}

TEST_F(CudaScriptTest, ViewThatThrowsLeavesThemFirst) {
  options_.spec.outputs[0].dims = {16 * 32 * 32};
  const std::string path = Save("  return y.view([-1, 16384])\n");
  EXPECT_FALSE(OnDevice(path)->takes_channels_last(0));
  ExpectAgreesWithTheProcessor(path);
}

// By the kernels: bf16, and none that turns a layout into the other.
TEST_F(CudaScriptTest, ConvolutionsRunInBf16WithoutTurningLayouts) {
  const auto network = OnDevice(Save("  return y.flatten(2).mean(2)\n"));
  ASSERT_TRUE(network->takes_channels_last(0));
  const Values inputs = {
      at::ones({kMostRows, 3, 32, 32},
               at::TensorOptions(TheDevice().device())
                   .dtype(at::kBFloat16)
                   .memory_format(at::MemoryFormat::ChannelsLast))};
  const c10::InferenceMode no_gradients;
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  Values outputs;
  for (int i = 0; i < 5; ++i) {
    outputs.clear();
    ASSERT_TRUE(network->Forward(inputs, outputs).ok());
  }
  outputs.clear();
  at::cuda::CUDAGraph graph(/*keep_graph=*/true);
  graph.capture_begin();
  ASSERT_TRUE(network->Forward(inputs, outputs).ok());
  graph.capture_end();
  int of_bf16 = 0;
  std::vector<std::string> names;
  for (const std::string& name : KernelNames(graph.raw_cuda_graph())) {
    of_bf16 += IsMatrixKernel(name) && IsOfBf16(name) ? 1 : 0;
    names.push_back(InLowerCase(name));
  }
  EXPECT_GE(of_bf16, 2) << ::testing::PrintToString(names);
  EXPECT_THAT(names, Each(Not(HasSubstr("nchwtonhwc"))));
  EXPECT_THAT(names, Each(Not(HasSubstr("nhwctonchw"))));
  // LibTorch's own copies, as of contiguous().
  EXPECT_THAT(names, Each(Not(HasSubstr("direct_copy_kernel"))));
}

}  // namespace
}  // namespace ferry
