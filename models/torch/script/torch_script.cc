// Loading a module and fitting it to the spec.
#include "models/torch/script/torch_script.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/codegen/fuser/interface.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/torch/script/cast_module.h"
#include "models/torch/script/complete_spec.h"
#include "models/torch/script/pack_linear.h"
#include "models/torch/script/script_outputs.h"
#include "models/torch/script/script_signature.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// The profiling executor measures, specializes, and is then as it stays.
constexpr int kWarmUpRuns = 3;

// What oneDNN says of a packed layer whose input has another type or size than
// its weights; what it means is left to the reader.
constexpr char kNoKernel[] = "inner product forward propagation";

class ScriptNetwork : public Network {
 public:
  ScriptNetwork(torch::jit::Module module, Precision precision,
                ScriptOutputs outputs)
      : module_(std::move(module)),
        precision_(precision),
        outputs_(std::move(outputs)) {}

  absl::Status Forward(const Values& inputs, Values& outputs) final {
    try {
      return outputs_.Pick(module_.forward(Arguments(inputs)), outputs);
    } catch (const std::exception& error) {
      if (!absl::StrContains(error.what(), kNoKernel)) {
        throw;
      }
      return absl::InternalError(absl::StrCat(
          "a linear layer takes ",
          precision_ == Precision::kNative
              ? "its weights' type"
              : c10::toString(ToScalarType(precision_)),
          " and as many values as its weights have inputs, forward() gives it "
          "another type or size"));
    }
  }

  int warm_up_runs() const final { return kWarmUpRuns; }

 private:
  virtual std::vector<c10::IValue> Arguments(const Values& inputs) const = 0;

  torch::jit::Module module_;
  const Precision precision_;
  const ScriptOutputs outputs_;
};

class TorchScriptNetwork final : public ScriptNetwork {
 public:
  TorchScriptNetwork(torch::jit::Module module, Precision precision,
                     std::vector<size_t> inputs,
                     const std::vector<Argument>& arguments,
                     ScriptOutputs outputs)
      : ScriptNetwork(std::move(module), precision, std::move(outputs)),
        input_places_(std::move(inputs)) {
    for (const Argument& argument : arguments) {
      absent_.push_back(argument.absent);
    }
  }

 private:
  std::vector<c10::IValue> Arguments(const Values& inputs) const override {
    std::vector<c10::IValue> arguments = absent_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].isNone()) {
        arguments[input_places_[i]] = inputs[i];
      }
    }
    return arguments;
  }

  std::vector<c10::IValue> absent_;  // [argument]
  const std::vector<size_t> input_places_;
};

// Of a forward() that takes its inputs by their names in the config.
class DictScriptNetwork final : public ScriptNetwork {
 public:
  DictScriptNetwork(torch::jit::Module module, Precision precision,
                    const std::vector<TensorSpec>& inputs,
                    ScriptOutputs outputs)
      : ScriptNetwork(std::move(module), precision, std::move(outputs)) {
    for (const TensorSpec& input : inputs) {
      names_.push_back(input.name);
    }
  }

 private:
  std::vector<c10::IValue> Arguments(const Values& inputs) const override {
    c10::Dict<std::string, at::Tensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensors.insert(names_[i], inputs[i].toTensor());
    }
    return {std::move(tensors)};
  }

  std::vector<std::string> names_;  // [spec input]
};

// Moves, casts and freezes. Throws what LibTorch throws.
torch::jit::Module Prepare(torch::jit::Module module,
                           const ModelOptions& options, at::Device device) {
  module.eval();
  module.to(device);
  if (options.precision != Precision::kNative) {
    CastFloats(module, ToScalarType(options.precision));
  }
  module = torch::jit::freeze(module);
  if (device.is_cpu()) {
    PackLinearLayers(module, options);
  }
  return module;
}

absl::StatusOr<std::unique_ptr<Network>> MakeDictNetwork(
    torch::jit::Module module, const ModelOptions& options, at::Device device) {
  for (const TensorSpec& input : options.spec.inputs) {
    if (absl::Status status = CheckDictInput(input); !status.ok()) {
      return status;
    }
  }
  const std::vector<std::string> fields = OutputFields(module);
  return std::make_unique<DictScriptNetwork>(
      Prepare(std::move(module), options, device), options.precision,
      options.spec.inputs, ScriptOutputs(options.spec.outputs, fields));
}

absl::StatusOr<torch::jit::Module> LoadModule(const std::string& path) {
  try {
    return torch::jit::load(path, at::kCPU);
  } catch (const c10::Error& error) {
    if (absl::StrContains(error.what_without_backtrace(), "builtin op")) {
      throw;  // a TorchScript file, of operators that are not here
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot load '", path, "': ", error.what_without_backtrace(),
        "; expected a TorchScript file, as torch.jit.trace(model, "
        "example).save('model.pt') writes it, not weights or Python objects, "
        "as torch.save() does"));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> LoadTorchScript(
    const std::string& path, ModelOptions& options, at::Device device) {
  if (access(path.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot read model file '", path, "'"));
  }
  torch::jit::FusionStrategy strategy = {
      {torch::jit::FusionBehavior::DYNAMIC, 1}};
  torch::jit::setFusionStrategy(strategy);
  // It compiles in a batch, and a graph records none of that.
  torch::jit::overrideCanFuseOnGPU(false);
  absl::StatusOr<torch::jit::Module> module = LoadModule(path);
  if (!module.ok()) {
    return module.status();
  }
  if (absl::Status status = CompleteSpec(path, *module, options);
      !status.ok()) {
    return status;
  }
  if (module->find_method("forward").has_value() && TakesDict(*module)) {
    return MakeDictNetwork(*std::move(module), options, device);
  }
  absl::StatusOr<std::vector<Argument>> arguments =
      ArgumentsOf(*module, options.spec.inputs.size());
  if (!arguments.ok()) {
    return arguments.status();
  }
  absl::StatusOr<std::vector<size_t>> places =
      PlaceInputs(options.spec.inputs, *arguments);
  if (!places.ok()) {
    return places.status();
  }
  for (size_t i = 0; i < places->size(); ++i) {
    if (absl::Status status =
            CheckArgument(options.spec.inputs[i], (*arguments)[(*places)[i]]);
        !status.ok()) {
      return status;
    }
  }
  const std::vector<std::string> fields = OutputFields(*module);
  return std::make_unique<TorchScriptNetwork>(
      Prepare(*std::move(module), options, device), options.precision,
      *std::move(places), *arguments,
      ScriptOutputs(options.spec.outputs, fields));
}

}  // namespace ferry
