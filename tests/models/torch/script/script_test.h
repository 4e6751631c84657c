// ScriptTest makes TorchScript files and runs them through an instance.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_MODELS_TORCH_SCRIPT_SCRIPT_TEST_H_
#define FERRY_TESTS_MODELS_TORCH_SCRIPT_SCRIPT_TEST_H_

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/models/temp_folder.h"
#include "tests/models/torch/torch_instance.h"

namespace ferry {

class ScriptTest : public testing::Test {
 protected:
  // Saves a module whose forward() is `source` and which has parameters
  // w [4, 3] and b [4].
  std::string Save(const std::string& source) {
    torch::jit::Module module("m");
    at::manual_seed(3);
    weight_ = at::randn({4, 3});
    bias_ = at::randn({4});
    module.register_parameter("w", weight_, false);
    module.register_parameter("b", bias_, false);
    module.define(source);
    const std::string path = folder_.path("model.pt");
    module.save(path);
    return path;
  }

  static ModelOptions Options(std::vector<TensorSpec> inputs,
                              std::vector<TensorSpec> outputs) {
    ModelOptions options;
    options.name = "m";
    options.spec = {std::move(inputs), std::move(outputs), 8};
    return options;
  }

  std::string LoadError(const std::string& source,
                        const ModelOptions& options) {
    const auto instance = TorchInstance::Create(options, Save(source));
    EXPECT_FALSE(instance.ok());
    return std::string(instance.status().message());
  }

  InstanceResult Run(const std::string& source, const ModelOptions& options,
                     const std::vector<at::Tensor>& inputs) {
    auto instance = TorchInstance::Create(options, Save(source));
    EXPECT_TRUE(instance.ok()) << instance.status();
    if (!instance.ok()) {
      return {{absl::StatusCode::kInternal, "not loaded"}, {}};
    }
    return instance->Run(inputs);
  }

  const TempFolder folder_;
  at::Tensor weight_, bias_;
};

inline constexpr char kLinear[] =
    "def forward(self, x):\n"
    "  return torch.relu(torch.linear(x, self.w, self.b))\n";
inline const TensorSpec kX = {"x", DataType::kFp32, {3}};
inline const TensorSpec kY = {"y", DataType::kFp32, {4}};

}  // namespace ferry

#endif  // FERRY_TESTS_MODELS_TORCH_SCRIPT_SCRIPT_TEST_H_
