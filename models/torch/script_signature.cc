// Reading the schema of forward().
#include "models/torch/script_signature.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ferry {
namespace {

const std::vector<c10::Argument>& Arguments(const torch::jit::Method& forward) {
  return forward.function().getSchema().arguments();
}

// Where the input stands; past the arguments where its name does not say.
size_t PlaceByName(const std::string& name,
                   const std::vector<std::string>& arguments) {
  const auto named = std::find(arguments.begin(), arguments.end(), name);
  return named != arguments.end()
             ? static_cast<size_t>(named - arguments.begin())
             : IndexInName(name).value_or(arguments.size());
}

}  // namespace

std::optional<size_t> IndexInName(const std::string& name) {
  const size_t mark = name.rfind("__");
  int64_t index = 0;
  if (mark == std::string::npos ||
      !absl::SimpleAtoi(name.substr(mark + 2), &index) || index < 0) {
    return std::nullopt;
  }
  return static_cast<size_t>(index);
}

std::string SignatureText(const torch::jit::Module& module) {
  const torch::jit::Method forward = module.get_method("forward");
  std::vector<std::string> texts;
  const auto& arguments = Arguments(forward);
  for (size_t i = 1; i < arguments.size(); ++i) {
    texts.push_back(
        absl::StrCat(arguments[i].type()->str(), " ", arguments[i].name()));
  }
  std::vector<std::string> returns;
  for (const c10::Argument& value : forward.function().getSchema().returns()) {
    returns.push_back(value.type()->str());
  }
  return absl::StrCat("forward(", absl::StrJoin(texts, ", "), ") -> ",
                      absl::StrJoin(returns, ", "));
}

absl::StatusOr<std::vector<std::string>> ArgumentNames(
    const torch::jit::Module& module, size_t wanted) {
  const std::optional<torch::jit::Method> forward =
      module.find_method("forward");
  if (!forward.has_value()) {
    return absl::InvalidArgumentError("expected a module with forward()");
  }
  std::vector<std::string> names;
  size_t required = 0;
  const auto& arguments = Arguments(*forward);
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

absl::StatusOr<std::vector<size_t>> PlaceInputs(
    const std::vector<TensorSpec>& inputs,
    const std::vector<std::string>& arguments) {
  std::vector<size_t> places;
  for (const TensorSpec& input : inputs) {
    const size_t place = PlaceByName(input.name, arguments);
    if (place < arguments.size()) {
      places.push_back(place);
    }
  }
  if (places.empty()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      places.push_back(i);
    }
    return places;
  }
  std::vector<bool> taken(arguments.size());
  for (const TensorSpec& input : inputs) {
    const size_t place = PlaceByName(input.name, arguments);
    if (place >= arguments.size() || taken[place]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "': expected an argument of forward(",
          absl::StrJoin(arguments, ", "), ") or NAME__<index>, each once"));
    }
    taken[place] = true;
  }
  return places;
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
