// Tests the networks written in C++: shapes, parameter counts, and bf16 against
// the plain forward in fp32.
#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <cmath>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/torch/networks/encoder.h"
#include "models/torch/networks/load_weights.h"
#include "models/torch/networks/mlp.h"
#include "models/torch/networks/network_factory.h"
#include "models/torch/networks/onednn_ops.h"
#include "models/torch/networks/resnet50.h"
#include "models/torch/types.h"
#include "nlohmann/json.hpp"
#include "tests/models/temp_folder.h"
#include "tests/models/torch/network_options.h"
#include "tests/models/torch/torch_instance.h"

namespace ferry {
namespace {

using ::testing::HasSubstr;

int64_t CountParameters(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const at::Tensor& parameter : module.parameters()) {
    count += parameter.numel();
  }
  return count;
}

// Largest difference, relative to the largest value.
double RelativeError(const at::Tensor& found, const at::Tensor& expected) {
  const double scale = expected.abs().max().item<double>();
  return (found.to(at::kFloat) - expected).abs().max().item<double>() / scale;
}

double Cosine(const at::Tensor& a, const at::Tensor& b) {
  return (a.dot(b) / (a.norm() * b.norm())).item<double>();
}

at::Tensor Serve(const ModelOptions& options, const std::string& weights,
                 const std::vector<at::Tensor>& inputs) {
  auto instance = TorchInstance::Create(options, weights);
  EXPECT_TRUE(instance.ok()) << instance.status();
  if (!instance.ok()) {
    return at::Tensor();
  }
  InstanceResult result = instance->Run(inputs);
  EXPECT_TRUE(result.outcome.ok()) << result.outcome.text;
  return result.outputs.at(0);
}

// Writes the module's parameters and buffers as a safetensors file.
std::string WriteWeights(const torch::nn::Module& module,
                         const TempFolder& folder,
                         const std::string& prefix = "") {
  nlohmann::json header;
  std::string data;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.scalar_type() != at::kFloat) {
      return;
    }
    const at::Tensor own = tensor.contiguous();
    header[prefix + name] = {
        {"dtype", "F32"},
        {"shape", tensor.sizes().vec()},
        {"data_offsets", {data.size(), data.size() + own.nbytes()}}};
    data.append(static_cast<const char*>(own.data_ptr()), own.nbytes());
  };
  for (const auto& entry : module.named_parameters()) {
    add(entry.key(), entry.value());
  }
  for (const auto& entry : module.named_buffers()) {
    add(entry.key(), entry.value());
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  return folder.Write("weights.safetensors", bytes + text + data);
}

class TorchNetworksTest : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(11);
    at::set_num_threads(1);
  }

  const torch::NoGradGuard no_gradients_;
  const TempFolder folder_;
};

TEST_F(TorchNetworksTest, MlpInBothPrecisionsIsItsPlainForward) {
  MlpModule module({64, 128, 32});
  EXPECT_EQ(CountParameters(module), 64 * 128 + 128 + 128 * 32 + 32);
  const std::string weights = WriteWeights(module, folder_);
  const at::Tensor x = at::randn({3, 64});
  const at::Tensor expected = module.forward(x);
  ModelOptions options = NetworkOptions("mlp");
  EXPECT_LT(RelativeError(Serve(options, weights, {x}), expected), 0.02);
  options.precision = Precision::kFp32;
  EXPECT_LT(RelativeError(Serve(options, weights, {x}), expected), 1e-5);
}

TEST_F(TorchNetworksTest, WeightsOfAFileAreComparedInBf16) {
  const std::string weights = WriteWeights(MlpModule({64, 128, 32}), folder_);
  ModelOptions options = NetworkOptions("mlp");
  const auto instance = TorchInstance::Create(options, weights);
  ASSERT_TRUE(instance.ok()) << instance.status();
  ASSERT_TRUE(instance->report().max_error.has_value());
  EXPECT_GT(*instance->report().max_error, 0);
  options.precision_tolerance = 1e-6;
  EXPECT_FALSE(TorchInstance::Create(options, weights).ok());
}

// Some of which are run with a few rows of zeros more.
TEST_F(TorchNetworksTest, MlpOfAnyNumberOfRowsIsItsPlainForward) {
  const std::vector<int64_t> widths = {1024, 512, 32};
  MlpModule module(widths);
  const std::string weights = WriteWeights(module, folder_);
  ModelOptions options = NetworkOptions("mlp", widths);
  options.spec.max_batch_size = 64;
  for (const int64_t rows : {16, 17, 34, 62, 63, 64}) {
    EXPECT_GE(onednn::FastRows(rows), rows);
    EXPECT_LE(onednn::FastRows(rows), 64);
    const at::Tensor x = at::randn({rows, 1024});
    const at::Tensor served = Serve(options, weights, {x});
    ASSERT_EQ(served.size(0), rows);
    EXPECT_LT(RelativeError(served, module.forward(x)), 0.02) << rows;
  }
}

TEST_F(TorchNetworksTest, SeededWeightsAreTheSameInEveryLoad) {
  const at::Tensor x = at::randn({2, 64});
  const ModelOptions options = NetworkOptions("mlp");
  EXPECT_TRUE(at::equal(Serve(options, "", {x}), Serve(options, "", {x})));
}

TEST_F(TorchNetworksTest, ResNet50IsItsPlainForward) {
  ResNet50Module module;
  module.eval();
  EXPECT_EQ(CountParameters(module), 25'557'032);
  // Statistics that are not the identity, so that folding them is seen.
  for (const auto& entry : module.named_buffers()) {
    if (entry.key().find("running_") != std::string::npos) {
      entry.value().uniform_(0.5, 1.5);
    }
  }
  const std::string weights = WriteWeights(module, folder_);
  const at::Tensor x = at::randn({2, 3, 224, 224});
  const at::Tensor expected = module.forward(x);
  ASSERT_EQ(expected.sizes(), (std::vector<int64_t>{2, 1000}));
  ModelOptions options = NetworkOptions("resnet50");
  EXPECT_LT(RelativeError(Serve(options, weights, {x}), expected), 0.05);
  options.precision = Precision::kFp32;
  EXPECT_LT(RelativeError(Serve(options, weights, {x}), expected), 1e-4);
}

TEST_F(TorchNetworksTest, EncoderIsItsPlainForward) {
  EncoderModule module{EncoderShape()};
  // Word, position and type embeddings, their norm, and six layers.
  EXPECT_EQ(CountParameters(module), 22'565'376);
  const std::string weights = WriteWeights(module, folder_, "bert.");
  const at::Tensor ids = at::randint(30'522, {3, 32}, at::kLong);
  at::Tensor mask = at::ones({3, 32}, at::kLong);
  mask[0].narrow(0, 5, 27).zero_();
  mask[1].narrow(0, 0, 4).zero_();
  const at::Tensor expected = module.forward(ids, mask);
  ModelOptions options = NetworkOptions("encoder");
  const at::Tensor bf16 = Serve(options, weights, {ids, mask});
  options.precision = Precision::kFp32;
  const at::Tensor fp32 = Serve(options, weights, {ids, mask});
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_NEAR(expected[row].norm().item<double>(), 1, 1e-5);
    EXPECT_GT(Cosine(bf16[row], expected[row]), 0.999) << row;
    EXPECT_GT(Cosine(fp32[row], expected[row]), 0.999999) << row;
  }
}

TEST_F(TorchNetworksTest, EncoderTakesItsInputsInAnyOrderAndAnyLength) {
  ModelOptions options = NetworkOptions("encoder");
  options.spec.inputs = {{"attention_mask", DataType::kInt64, {kAnySize}},
                         {"input_ids", DataType::kInt64, {kAnySize}}};
  const at::Tensor ids = at::randint(30'522, {2, 10}, at::kLong);
  const at::Tensor mask = at::ones({2, 10}, at::kLong);
  const at::Tensor padded_ids =
      at::cat({ids, at::zeros({2, 22}, at::kLong)}, 1);
  const at::Tensor padded_mask =
      at::cat({mask, at::zeros({2, 22}, at::kLong)}, 1);
  const at::Tensor swapped = Serve(options, "", {mask, ids});
  const at::Tensor padded =
      Serve(NetworkOptions("encoder"), "", {padded_ids, padded_mask});
  for (int64_t row = 0; row < 2; ++row) {
    EXPECT_GT(Cosine(swapped[row], padded[row]), 0.999) << row;
  }
}

TEST_F(TorchNetworksTest, WrongTokenIdGivesNanInItsOwnRowOnly) {
  const at::Tensor mask = at::ones({3, 32}, at::kLong);
  for (const int64_t wrong : {int64_t{30'522}, int64_t{-1}, INT64_MAX}) {
    at::Tensor ids = at::ones({3, 32}, at::kLong);
    ids[1][7] = wrong;
    const at::Tensor served = Serve(NetworkOptions("encoder"), "", {ids, mask});
    EXPECT_TRUE(served[1].isnan().all().item<bool>());
    EXPECT_FALSE(served[0].isnan().any().item<bool>());
    EXPECT_FALSE(served[2].isnan().any().item<bool>());
  }
}

TEST_F(TorchNetworksTest, RowWithoutTokensIsZero) {
  const at::Tensor ids = at::ones({2, 32}, at::kLong);
  at::Tensor mask = at::ones({2, 32}, at::kLong);
  mask[0].zero_();
  const at::Tensor served = Serve(NetworkOptions("encoder"), "", {ids, mask});
  EXPECT_EQ(served[0].abs().max().item<double>(), 0);
  EXPECT_NEAR(served[1].norm().item<double>(), 1, 1e-3);
}

TEST_F(TorchNetworksTest, WeightsThatDoNotFitAreAllListed) {
  MlpModule other({64, 128, 16, 8});
  const std::string weights = WriteWeights(other, folder_);
  const auto instance = TorchInstance::Create(NetworkOptions("mlp"), weights);
  ASSERT_EQ(instance.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(instance.status().message());
  EXPECT_THAT(message,
              HasSubstr("surplus (2): layers.2.weight, layers.2.bias"));
  EXPECT_THAT(message, HasSubstr("'layers.1.weight': expected F32, F16 or BF16 "
                                 "[32,128], found FP32 [16,128]"));
}

TEST_F(TorchNetworksTest, WeightsThatAreMissingAreAllListed) {
  MlpModule other({64, 128});
  const auto instance = TorchInstance::Create(NetworkOptions("mlp"),
                                              WriteWeights(other, folder_));
  EXPECT_THAT(std::string(instance.status().message()),
              HasSubstr("missing (2): layers.1.bias, layers.1.weight"));
}

TEST_F(TorchNetworksTest, SpecOfAnotherNetworkIsRefusedByName) {
  ModelOptions options = NetworkOptions("mlp");
  options.spec.inputs[0].name = "x";
  auto instance = TorchInstance::Create(options, "");
  EXPECT_THAT(std::string(instance.status().message()),
              HasSubstr("expected 'input' FP32 [64], the config has 'x'"));
  options = NetworkOptions("encoder");
  options.spec.inputs[0].type = DataType::kFp32;
  instance = TorchInstance::Create(options, "");
  EXPECT_THAT(std::string(instance.status().message()),
              HasSubstr("the network's inputs"));
  options = NetworkOptions("encoder");
  options.spec.inputs[0].dims = options.spec.inputs[1].dims = {513};
  EXPECT_FALSE(TorchInstance::Create(options, "").ok());
}

// The real weights, where scripts/make_minilm.sh has put them, against
// embeddings that the transformers library computed in fp32.
TEST_F(TorchNetworksTest, RealMiniLmInBf16AgreesWithTheReference) {
  const std::string weights =
      std::string(FERRY_SOURCE_DIR) +
      "/build/model_repository/minilm/1/model.safetensors";
  if (!std::ifstream(weights)) {
    GTEST_SKIP() << "no weights; run scripts/make_minilm.sh";
  }
  std::ifstream file(std::string(FERRY_SOURCE_DIR) +
                     "/tests/data/minilm/reference.json");
  const auto reference = nlohmann::json::parse(file)["sentences"];
  const auto rows = static_cast<int64_t>(reference.size());
  ASSERT_EQ(rows, 10);
  at::Tensor ids = at::zeros({rows, 128}, at::kLong);
  at::Tensor mask = at::zeros({rows, 128}, at::kLong);
  for (int64_t row = 0; row < rows; ++row) {
    const auto tokens = reference[static_cast<size_t>(row)]["input_ids"];
    for (size_t i = 0; i < tokens.size(); ++i) {
      ids[row][static_cast<int64_t>(i)] = tokens[i].get<int64_t>();
      mask[row][static_cast<int64_t>(i)] = 1;
    }
  }
  ModelOptions options = NetworkOptions("encoder");
  options.spec.max_batch_size = 16;
  options.spec.inputs[0].dims = options.spec.inputs[1].dims = {128};
  for (Precision precision : {Precision::kBf16, Precision::kFp32}) {
    options.precision = precision;
    const at::Tensor served = Serve(options, weights, {ids, mask});
    for (int64_t row = 0; row < rows; ++row) {
      const auto values = reference[static_cast<size_t>(row)]["embedding"]
                              .get<std::vector<float>>();
      const double cosine = Cosine(served[row], at::tensor(values));
      EXPECT_GE(cosine, precision == Precision::kBf16 ? 0.999 : 0.99999) << row;
    }
  }
}

}  // namespace
}  // namespace ferry
