// Loading a module and fitting it to the spec.
#include "models/torch/torch_script.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/pack_linear.h"
#include "models/torch/tensor_places.h"
#include "models/torch/texts.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// The profiling executor measures, specializes, and is then as it stays.
constexpr int kWarmUpRuns = 3;

// An argument of forward().
struct Argument {
  std::string name;
  std::string type;  // as TorchScript writes it
  bool has_default = false;
  bool may_be_none = false;
  c10::IValue absent;  // what it is given where a request leaves it out
};

std::string Names(const std::vector<Argument>& arguments) {
  return absl::StrJoin(arguments, ", ",
                       [](std::string* out, const Argument& argument) {
                         out->append(argument.name);
                       });
}

// Returns OK where `argument` takes what the spec says of `input`.
absl::Status CheckArgument(const TensorSpec& input, const Argument& argument) {
  if (input.is_optional && !argument.has_default && !argument.may_be_none) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name,
        "': expected an argument with a default or of "
        "type Optional[...], as the config has it optional; forward() has '",
        argument.name, ": ", argument.type, "'"));
  }
  const bool takes_texts = absl::StrContains(argument.type, "List[str]");
  if (takes_texts != (input.type == DataType::kBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name, "': the config has ", DataTypeName(input.type),
        ", forward() has '", argument.name, ": ", argument.type,
        "'; TYPE_STRING is List[str], all other types are Tensor"));
  }
  return absl::OkStatus();
}

// Where the tensors of the spec stand among the arguments of forward().
absl::StatusOr<std::vector<size_t>> PlaceInputs(
    const std::vector<TensorSpec>& inputs,
    const std::vector<Argument>& arguments) {
  std::vector<size_t> places;
  for (const TensorSpec& input : inputs) {
    const auto named = std::find_if(
        arguments.begin(), arguments.end(),
        [&](const Argument& argument) { return argument.name == input.name; });
    size_t place = static_cast<size_t>(named - arguments.begin());
    if (named == arguments.end()) {
      place = IndexInName(input.name).value_or(arguments.size());
    }
    if (place >= arguments.size() ||
        std::find(places.begin(), places.end(), place) != places.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "': expected an argument of forward(",
          Names(arguments), ") or NAME__<index>, each once"));
    }
    if (absl::Status status = CheckArgument(input, arguments[place]);
        !status.ok()) {
      return status;
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
                     const std::vector<Argument>& arguments,
                     const std::vector<TensorSpec>& outputs)
      : module_(std::move(module)),
        input_places_(std::move(inputs)),
        output_places_(PlaceOutputs(outputs)),
        outputs_(outputs) {
    for (const Argument& argument : arguments) {
      absent_.push_back(argument.absent);
    }
  }

  absl::Status Forward(const Values& inputs, Values& outputs) override {
    std::vector<c10::IValue> arguments = absent_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].isNone()) {
        arguments[input_places_[i]] = inputs[i];
      }
    }
    return Unpack(module_.forward(std::move(arguments)), outputs);
  }

  int warm_up_runs() const override { return kWarmUpRuns; }

 private:
  absl::Status Unpack(const c10::IValue& value, Values& outputs) const {
    if (value.isTensor() || IsTexts(value)) {
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
                    Values& outputs) const {
    if (values.size() != outputs_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("outputs: the config has ", outputs_.size(),
                       ", the model gives ", values.size()));
    }
    for (size_t place : output_places_) {
      outputs.push_back(values[place]);
    }
    return absl::OkStatus();
  }

  absl::Status PickByName(const c10::Dict<c10::IValue, c10::IValue>& values,
                          Values& outputs) const {
    for (const TensorSpec& output : outputs_) {
      const auto found = values.find(output.name);
      if (found == values.end()) {
        std::vector<std::string> names;
        for (const auto& entry : values) {
          names.push_back(entry.key().isString() ? entry.key().toStringRef()
                                                 : "?");
        }
        return absl::InvalidArgumentError(
            absl::StrCat("output '", output.name, "': the model gives ",
                         absl::StrJoin(names, ", ")));
      }
      outputs.push_back(found->value());
    }
    return absl::OkStatus();
  }

  torch::jit::Module module_;
  std::vector<c10::IValue> absent_;  // [argument]
  const std::vector<size_t> input_places_;
  const std::vector<size_t> output_places_;
  const std::vector<TensorSpec> outputs_;
};

// The arguments of forward(), those first that the spec's tensors may be. The
// others have defaults.
absl::StatusOr<std::vector<Argument>> ArgumentsOf(
    const torch::jit::Module& module, size_t wanted) {
  const std::optional<torch::jit::Method> forward =
      module.find_method("forward");
  if (!forward.has_value()) {
    return absl::InvalidArgumentError("expected a module with forward()");
  }
  std::vector<Argument> arguments;
  size_t required = 0;
  const auto& schema = forward->function().getSchema().arguments();
  for (size_t i = 1; i < schema.size(); ++i) {
    arguments.push_back(
        {.name = schema[i].name(),
         .type = schema[i].type()->annotation_str(),
         .has_default = schema[i].default_value().has_value(),
         .may_be_none = schema[i].type()->kind() == c10::TypeKind::OptionalType,
         .absent = schema[i].default_value().value_or(c10::IValue())});
    required += arguments.back().has_default ? 0 : 1;
  }
  if (wanted < required || wanted > arguments.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs: the config has ", wanted, ", forward(", Names(arguments),
        ") takes ", required,
        arguments.size() == required ? ""
                                     : absl::StrCat(" to ", arguments.size())));
  }
  return arguments;
}

// Returns OK where each argument without a default is some input.
absl::Status CheckAllPlaced(const std::vector<Argument>& arguments,
                            const std::vector<size_t>& places) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].has_default &&
        std::find(places.begin(), places.end(), i) == places.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs: expected one for '", arguments[i].name,
                       "', which has no default in forward(", Names(arguments),
                       "), the config has none"));
    }
  }
  return absl::OkStatus();
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
  absl::StatusOr<std::vector<Argument>> arguments =
      ArgumentsOf(module, options.spec.inputs.size());
  if (!arguments.ok()) {
    return arguments.status();
  }
  absl::StatusOr<std::vector<size_t>> places =
      PlaceInputs(options.spec.inputs, *arguments);
  if (!places.ok()) {
    return places.status();
  }
  if (absl::Status status = CheckAllPlaced(*arguments, *places); !status.ok()) {
    return status;
  }
  return std::make_unique<TorchScriptNetwork>(
      Prepare(std::move(module), options), *std::move(places), *arguments,
      options.spec.outputs);
}

}  // namespace ferry
