// Loading a module and fitting it to the spec.
#include "models/torch/torch_script.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/pack_linear.h"
#include "models/torch/tensor_places.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// The profiling executor measures, specializes, and is then as it stays.
constexpr int kWarmUpRuns = 3;

// Where the tensors of the spec stand among the arguments of forward().
absl::StatusOr<std::vector<size_t>> PlaceInputs(
    const std::vector<TensorSpec>& inputs,
    const std::vector<std::string>& arguments) {
  std::vector<size_t> places;
  for (const TensorSpec& input : inputs) {
    const auto named =
        std::find(arguments.begin(), arguments.end(), input.name);
    size_t place = static_cast<size_t>(named - arguments.begin());
    if (named == arguments.end()) {
      place = IndexInName(input.name).value_or(arguments.size());
    }
    if (place >= arguments.size() ||
        std::find(places.begin(), places.end(), place) != places.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "': expected an argument of forward(",
          absl::StrJoin(arguments, ", "), ") or NAME__<index>, each once"));
    }
    places.push_back(place);
  }
  return places;
}

// Where the tensors of the spec stand among a tuple's.
std::vector<size_t> PlaceOutputs(const std::vector<TensorSpec>& outputs) {
  std::vector<size_t> places;
  for (const TensorSpec& output : outputs) {
    const size_t place = IndexInName(output.name).value_or(outputs.size());
    if (place >= outputs.size() ||
        std::find(places.begin(), places.end(), place) != places.end()) {
      break;
    }
    places.push_back(place);
  }
  if (places.size() < outputs.size()) {
    places.clear();
    for (size_t i = 0; i < outputs.size(); ++i) {
      places.push_back(i);
    }
  }
  return places;
}

class TorchScriptNetwork final : public Network {
 public:
  TorchScriptNetwork(torch::jit::Module module, std::vector<size_t> inputs,
                     const std::vector<TensorSpec>& outputs)
      : module_(std::move(module)),
        input_places_(std::move(inputs)),
        output_places_(PlaceOutputs(outputs)),
        outputs_(outputs) {}

  absl::Status Forward(const Tensors& inputs, Tensors& outputs) override {
    std::vector<c10::IValue> arguments(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      arguments[input_places_[i]] = inputs[i];
    }
    return Unpack(module_.forward(std::move(arguments)), outputs);
  }

  int warm_up_runs() const override { return kWarmUpRuns; }

 private:
  absl::Status Unpack(const c10::IValue& value, Tensors& outputs) const {
    if (value.isTensor()) {
      return Pick({value}, outputs);
    }
    if (value.isTuple()) {
      return Pick(value.toTupleRef().elements().vec(), outputs);
    }
    if (value.isList()) {
      return Pick(value.toListRef().vec(), outputs);
    }
    if (value.isGenericDict()) {
      return PickByName(value.toGenericDict(), outputs);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "outputs: expected tensors, the model gives ", value.tagKind()));
  }

  absl::Status Pick(const std::vector<c10::IValue>& values,
                    Tensors& outputs) const {
    if (values.size() != outputs_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("outputs: the config has ", outputs_.size(),
                       ", the model gives ", values.size()));
    }
    for (size_t place : output_places_) {
      if (!values[place].isTensor()) {
        return absl::InvalidArgumentError(
            absl::StrCat("output ", place,
                         ": expected a tensor, the model "
                         "gives ",
                         values[place].tagKind()));
      }
      outputs.push_back(values[place].toTensor());
    }
    return absl::OkStatus();
  }

  absl::Status PickByName(const c10::Dict<c10::IValue, c10::IValue>& values,
                          Tensors& outputs) const {
    for (const TensorSpec& output : outputs_) {
      const auto found = values.find(output.name);
      if (found == values.end() || !found->value().isTensor()) {
        std::vector<std::string> names;
        for (const auto& entry : values) {
          names.push_back(entry.key().isString() ? entry.key().toStringRef()
                                                 : "?");
        }
        return absl::InvalidArgumentError(
            absl::StrCat("output '", output.name, "': the model gives ",
                         absl::StrJoin(names, ", ")));
      }
      outputs.push_back(found->value().toTensor());
    }
    return absl::OkStatus();
  }

  torch::jit::Module module_;
  const std::vector<size_t> input_places_;
  const std::vector<size_t> output_places_;
  const std::vector<TensorSpec> outputs_;
};

// Names of the arguments that a request must give: those without a default.
absl::StatusOr<std::vector<std::string>> Arguments(
    const torch::jit::Module& module, size_t wanted) {
  const std::optional<torch::jit::Method> forward =
      module.find_method("forward");
  if (!forward.has_value()) {
    return absl::InvalidArgumentError("expected a module with forward()");
  }
  std::vector<std::string> names;
  size_t required = 0;
  const auto& arguments = forward->function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    names.push_back(arguments[i].name());
    required += arguments[i].default_value().has_value() ? 0 : 1;
  }
  if (wanted < required || wanted > names.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs: the config has ", wanted, ", forward(",
        absl::StrJoin(names, ", "), ") takes ", required,
        names.size() == required ? "" : absl::StrCat(" to ", names.size())));
  }
  names.resize(wanted);
  return names;
}

// Loads, casts and freezes. Throws what LibTorch throws.
torch::jit::Module Prepare(torch::jit::Module module,
                           const ModelOptions& options) {
  module.eval();
  module.to(ToScalarType(options.precision));
  module = torch::jit::freeze(module);
  PackLinearLayers(module, options);
  return module;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> LoadTorchScript(
    const ModelOptions& options, const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot read model file '", path, "'"));
  }
  torch::jit::FusionStrategy strategy = {
      {torch::jit::FusionBehavior::DYNAMIC, 1}};
  torch::jit::setFusionStrategy(strategy);
  torch::jit::Module module = torch::jit::load(path, at::kCPU);
  absl::StatusOr<std::vector<std::string>> arguments =
      Arguments(module, options.spec.inputs.size());
  if (!arguments.ok()) {
    return arguments.status();
  }
  absl::StatusOr<std::vector<size_t>> places =
      PlaceInputs(options.spec.inputs, *arguments);
  if (!places.ok()) {
    return places.status();
  }
  return std::make_unique<TorchScriptNetwork>(
      Prepare(std::move(module), options), *std::move(places),
      options.spec.outputs);
}

}  // namespace ferry
