// Implements ArgumentsOf, PlaceInputs and others on the schema of forward().
#include "models/torch/script/script_signature.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/tensor_places.h"

namespace ferry {
namespace {

const std::vector<c10::Argument>& SchemaOf(const torch::jit::Method& forward) {
  return forward.function().getSchema().arguments();
}

std::string Names(const std::vector<Argument>& arguments) {
  return absl::StrJoin(arguments, ", ",
                       [](std::string* out, const Argument& argument) {
                         out->append(argument.name);
                       });
}

// Where the input stands; past the arguments where its name does not say.
size_t PlaceByName(const std::string& name,
                   const std::vector<Argument>& arguments) {
  const auto named = std::find_if(
      arguments.begin(), arguments.end(),
      [&](const Argument& argument) { return argument.name == name; });
  return named != arguments.end()
             ? static_cast<size_t>(named - arguments.begin())
             : IndexInName(name).value_or(arguments.size());
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

// Whether forward() may be without it: a mask is made where it is not sent.
bool IsLeftOut(const TensorSpec& input) {
  return input.is_optional && !input.is_mask;
}

}  // namespace

std::string SignatureText(const torch::jit::Module& module) {
  const torch::jit::Method forward = module.get_method("forward");
  std::vector<std::string> parts;
  const auto& arguments = SchemaOf(forward);
  for (size_t i = 1; i < arguments.size(); ++i) {
    parts.push_back(
        absl::StrCat(arguments[i].type()->str(), " ", arguments[i].name()));
  }
  std::vector<std::string> returns;
  for (const c10::Argument& value : forward.function().getSchema().returns()) {
    returns.push_back(value.type()->str());
  }
  return absl::StrCat("forward(", absl::StrJoin(parts, ", "), ") -> ",
                      absl::StrJoin(returns, ", "));
}

absl::StatusOr<std::vector<Argument>> ArgumentsOf(
    const torch::jit::Module& module, size_t wanted) {
  const std::optional<torch::jit::Method> forward =
      module.find_method("forward");
  if (!forward.has_value()) {
    return absl::InvalidArgumentError("expected a module with forward()");
  }
  std::vector<Argument> arguments;
  size_t required = 0;
  const auto& schema = SchemaOf(*forward);
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

absl::StatusOr<std::vector<size_t>> PlaceInputs(
    const std::vector<TensorSpec>& inputs,
    const std::vector<Argument>& arguments) {
  const bool are_named =
      std::any_of(inputs.begin(), inputs.end(), [&](const TensorSpec& input) {
        return PlaceByName(input.name, arguments) < arguments.size();
      });
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t place = are_named ? PlaceByName(inputs[i].name, arguments) : i;
    if (place >= arguments.size() ||
        std::find(places.begin(), places.end(), place) != places.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", inputs[i].name, "': expected an argument of forward(",
          Names(arguments), ") or NAME__<index>, each once"));
    }
    places.push_back(place);
  }
  if (absl::Status status = CheckAllPlaced(arguments, places); !status.ok()) {
    return status;
  }
  return places;
}

bool TakesDict(const torch::jit::Module& module) {
  const auto& arguments = SchemaOf(module.get_method("forward"));
  const auto dict = arguments.size() == 2
                        ? arguments[1].type()->cast<c10::DictType>()
                        : nullptr;
  return dict != nullptr &&
         dict->getKeyType()->kind() == c10::TypeKind::StringType &&
         dict->getValueType()->kind() == c10::TypeKind::TensorType;
}

absl::Status CheckDictInput(const TensorSpec& input) {
  if (IsLeftOut(input) || input.type == DataType::kBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name,
        "': expected a tensor that each request brings, as forward() takes a "
        "Dict[str, Tensor], the config has ",
        IsLeftOut(input) ? "it optional" : DataTypeName(input.type)));
  }
  return absl::OkStatus();
}

absl::Status CheckArgument(const TensorSpec& input, const Argument& argument) {
  if (IsLeftOut(input) && !argument.has_default && !argument.may_be_none) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name,
        "': expected an argument with a default or of "
        "type Optional[...], as the config has it optional; forward() has '",
        argument.name, ": ", argument.type, "'"));
  }
  if (!IsTensorType(argument.type) && !IsStringsType(argument.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name,
                     "': expected an argument of type Tensor, "
                     "Optional[Tensor] or List[str], forward() has '",
                     argument.name, ": ", argument.type,
                     "': take tensors as arguments of their own, or in one "
                     "Dict[str, Tensor]"));
  }
  if (IsStringsType(argument.type) != (input.type == DataType::kBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name, "': the config has ", DataTypeName(input.type),
        ", forward() has '", argument.name, ": ", argument.type,
        "'; TYPE_STRING is List[str], all other types are Tensor"));
  }
  return absl::OkStatus();
}

bool IsTensorType(const std::string& type) {
  return type == "Tensor" || type == "Optional[Tensor]";
}

bool IsStringsType(const std::string& type) {
  return absl::StrContains(type, "List[str]");
}

std::vector<std::string> OutputTypes(const torch::jit::Module& module) {
  std::vector<std::string> types;
  const torch::jit::Method forward = module.get_method("forward");
  for (const c10::Argument& value : forward.function().getSchema().returns()) {
    const auto tuple = value.type()->cast<c10::TupleType>();
    for (const c10::TypePtr& type :
         tuple != nullptr ? tuple->elements().vec()
                          : std::vector<c10::TypePtr>{value.type()}) {
      types.push_back(type->annotation_str());
    }
  }
  return types;
}

std::vector<std::string> OutputFields(const torch::jit::Module& module) {
  std::vector<std::string> names;
  const torch::jit::Method forward = module.get_method("forward");
  const auto& returns = forward.function().getSchema().returns();
  const auto tuple =
      returns.size() == 1 ? returns[0].type()->cast<c10::TupleType>() : nullptr;
  if (tuple != nullptr && tuple->schema() != nullptr) {
    for (const c10::Argument& field : tuple->schema()->arguments()) {
      names.push_back(field.name());
    }
  }
  return names;
}

// load() leaves them in the file: a dict of lists by the method's name.
std::vector<at::Tensor> TracedInputs(const std::string& path) {
  constexpr char kArchive[] = "traced_inputs";
  caffe2::serialize::PyTorchStreamReader reader(path);
  if (!reader.hasRecord(absl::StrCat(kArchive, ".pkl"))) {
    return {};
  }
  const c10::IValue traced = torch::jit::readArchiveAndTensors(
      kArchive, /*pickle_prefix=*/"", /*tensor_prefix=*/"",
      /*type_resolver=*/std::nullopt, /*obj_loader=*/std::nullopt,
      at::Device(at::kCPU), reader);
  std::vector<at::Tensor> tensors;
  for (const auto& method : traced.toGenericDict()) {
    if (method.key().toStringRef() != "forward") {
      continue;
    }
    for (const c10::IValue& value : method.value().toListRef()) {
      if (!value.isTensor()) {
        return {};
      }
      tensors.push_back(value.toTensor());
    }
  }
  return tensors;
}

}  // namespace ferry
