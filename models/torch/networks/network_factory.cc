// Implements MakeNetwork: checks the spec, then makes the network.
#include "models/torch/networks/network_factory.h"

#include <ATen/Context.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/networks/encoder.h"
#include "models/torch/networks/load_weights.h"
#include "models/torch/networks/mlp.h"
#include "models/torch/networks/resnet50.h"

namespace ferry {
namespace {

constexpr uint64_t kWeightsSeed = 20'240'229;

bool IsFloat(DataType type) {
  return type == DataType::kFp16 || type == DataType::kBf16 ||
         type == DataType::kFp32 || type == DataType::kFp64;
}

// Floats of any size may stand on the wire for a float; else types are equal.
bool TypesAgree(DataType expected, DataType found) {
  return expected == found || (IsFloat(expected) && IsFloat(found));
}

std::string Describe(const std::vector<TensorSpec>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const auto& spec) {
    absl::StrAppend(out, "'", spec.name, "' ", DataTypeName(spec.type), " [",
                    absl::StrJoin(spec.dims, ","), "]");
  });
}

// Checks that `found` are `expected`, in any order.
absl::Status CheckTensors(const char* side,
                          const std::vector<TensorSpec>& expected,
                          const std::vector<TensorSpec>& found) {
  const bool agree =
      expected.size() == found.size() &&
      std::all_of(found.begin(), found.end(), [&](const TensorSpec& given) {
        return std::any_of(expected.begin(), expected.end(),
                           [&](const TensorSpec& wanted) {
                             return wanted.name == given.name &&
                                    TypesAgree(wanted.type, given.type) &&
                                    MatchesSizes(wanted.dims, given.dims);
                           });
      });
  if (agree) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the network's ", side, ": expected ", Describe(expected),
                   ", the config has ", Describe(found)));
}

absl::Status CheckSpec(const ModelOptions& options, const ModelSpec& expected) {
  if (options.spec.max_batch_size < 1) {
    return absl::InvalidArgumentError(
        "the network: expected max_batch_size >= 1, the config has 0");
  }
  std::vector<TensorSpec> inputs = options.spec.inputs;
  for (size_t i = 0; i < options.normalizations.size(); ++i) {
    if (options.normalizations[i].has_value()) {
      inputs[i] = {inputs[i].name, DataType::kFp32,
                   ModelDims(*options.normalizations[i], inputs[i].dims)};
    }
  }
  absl::Status status = CheckTensors("inputs", expected.inputs, inputs);
  status.Update(
      CheckTensors("outputs", expected.outputs, options.spec.outputs));
  return status;
}

// What a network is made of but its shape.
struct Making {
  const std::string& weights_path;  // empty: as they were drawn
  at::Device device;                // where it computes
};

absl::Status Fill(torch::nn::Module& module, const std::string& weights_path,
                  const std::vector<std::string>& pass_over) {
  module.eval();
  return weights_path.empty() ? absl::OkStatus()
                              : LoadWeights(module, weights_path, pass_over);
}

absl::StatusOr<std::unique_ptr<Network>> MakeMlp(const ModelOptions& options,
                                                 const Making& making) {
  if (options.widths.size() < 2) {
    return absl::InvalidArgumentError(
        "parameter 'ferry.widths': expected two or more widths of the mlp, "
        "input first");
  }
  const ModelSpec expected = {
      {{"input", DataType::kFp32, {options.widths.front()}}},
      {{"output", DataType::kFp32, {options.widths.back()}}}};
  if (absl::Status status = CheckSpec(options, expected); !status.ok()) {
    return status;
  }
  MlpModule module(options.widths);
  if (absl::Status status = Fill(module, making.weights_path, {});
      !status.ok()) {
    return status;
  }
  return CompileMlp(module, options, making.device);
}

absl::StatusOr<std::unique_ptr<Network>> MakeResNet50(
    const ModelOptions& options, const Making& making) {
  const ModelSpec expected = {{{"input", DataType::kFp32, {3, 224, 224}}},
                              {{"output", DataType::kFp32, {1000}}}};
  if (absl::Status status = CheckSpec(options, expected); !status.ok()) {
    return status;
  }
  ResNet50Module module;
  if (absl::Status status = Fill(module, making.weights_path, {});
      !status.ok()) {
    return status;
  }
  return CompileResNet50(module, options, making.device);
}

absl::StatusOr<std::unique_ptr<Network>> MakeEncoder(
    const ModelOptions& options, const Making& making) {
  const EncoderShape shape;
  const ModelSpec expected = {
      {{"input_ids", DataType::kInt64, {kAnySize}},
       {"attention_mask", DataType::kInt64, {kAnySize}}},
      {{"embedding", DataType::kFp32, {shape.hidden}}}};
  if (absl::Status status = CheckSpec(options, expected); !status.ok()) {
    return status;
  }
  if (options.spec.inputs[0].dims != options.spec.inputs[1].dims ||
      options.spec.inputs[0].dims[0] > shape.max_positions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the network's inputs: expected the same count of tokens for both, at "
        "most ",
        shape.max_positions, ", the config has ",
        Describe(options.spec.inputs)));
  }
  EncoderModule module(shape);
  if (absl::Status status = Fill(module, making.weights_path,
                                 {"embeddings.position_ids", "pooler."});
      !status.ok()) {
    return status;
  }
  return CompileEncoder(module, options, making.device);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(
    const ModelOptions& options, const std::string& weights_path,
    at::Device device) {
  const torch::NoGradGuard no_gradients;
  const Making making = {weights_path, device};
  at::manual_seed(kWeightsSeed);
  if (options.network == "mlp") {
    return MakeMlp(options, making);
  }
  if (options.network == "resnet50") {
    return MakeResNet50(options, making);
  }
  if (options.network == "encoder") {
    return MakeEncoder(options, making);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("parameter 'ferry.network': expected 'mlp', 'resnet50' or "
                   "'encoder', got '",
                   options.network, "'"));
}

}  // namespace ferry
