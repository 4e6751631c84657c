// Implements ScriptOutputs: unpacks what forward() gives.
#include "models/torch/script/script_outputs.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/torch/strings.h"
#include "models/torch/tensor_places.h"

namespace ferry {
namespace {

constexpr char kAdvice[] =
    ": return tensors, one or in one flat tuple, list or dict";

absl::Status NoTensor(absl::string_view output, const c10::IValue& value) {
  return absl::InvalidArgumentError(
      absl::StrCat("output ", output, ": expected a tensor, the model gives ",
                   value.tagKind(), kAdvice));
}

bool IsServed(const c10::IValue& value) {
  return value.isTensor() || IsStrings(value);
}

std::string KeyName(const c10::IValue& key) {
  return key.isString() ? key.toStringRef() : "?";
}

}  // namespace

ScriptOutputs::ScriptOutputs(const std::vector<TensorSpec>& outputs,
                             const std::vector<std::string>& fields)
    : outputs_(outputs) {
  for (const TensorSpec& output : outputs) {
    const auto field = std::find(fields.begin(), fields.end(), output.name);
    if (field == fields.end()) {
      places_.clear();
      break;
    }
    places_.push_back(static_cast<size_t>(field - fields.begin()));
  }
  for (const TensorSpec& output : outputs) {
    const std::optional<size_t> index = IndexInName(output.name);
    if (!index.has_value() ||
        std::find(indexes_.begin(), indexes_.end(), *index) != indexes_.end()) {
      indexes_.clear();
      break;
    }
    indexes_.push_back(*index);
  }
}

absl::Status ScriptOutputs::Pick(const c10::IValue& value,
                                 Values& picked) const {
  if (IsServed(value)) {
    return PickByPlace(value, picked);
  }
  if (value.isTuple()) {
    return PickByPlace(value.toTupleRef().elements().asArrayRef(), picked);
  }
  if (value.isList()) {
    return PickByPlace(value.toListRef(), picked);
  }
  if (value.isGenericDict()) {
    return PickByName(value.toGenericDict(), picked);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "outputs: expected tensors, the model gives ", value.tagKind(), kAdvice));
}

absl::Status ScriptOutputs::PickByPlace(c10::ArrayRef<c10::IValue> values,
                                        Values& picked) const {
  // Indexes past the end are parts of names.
  const bool has_all_indexes =
      std::all_of(indexes_.begin(), indexes_.end(),
                  [&](size_t index) { return index < values.size(); });
  const std::vector<size_t>& named = !places_.empty()  ? places_
                                     : has_all_indexes ? indexes_
                                                       : places_;
  // The first ones, as in Triton, unless names ask for one that is not there.
  const bool is_indexed = !indexes_.empty();
  if (named.empty() && (values.size() < outputs_.size() ||
                        (values.size() > outputs_.size() && is_indexed))) {
    return absl::InvalidArgumentError(
        absl::StrCat("outputs: the config has ", outputs_.size(),
                     ", the model gives ", values.size()));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const size_t place = named.empty() ? i : named[i];
    if (!IsServed(values[place])) {
      return NoTensor(absl::StrCat(place), values[place]);
    }
    picked.push_back(values[place]);
  }
  return absl::OkStatus();
}

absl::Status ScriptOutputs::PickByName(
    const c10::Dict<c10::IValue, c10::IValue>& values, Values& picked) const {
  for (const TensorSpec& output : outputs_) {
    const auto found = values.find(output.name);
    if (found == values.end()) {
      std::vector<std::string> names;
      for (const auto& entry : values) {
        names.push_back(KeyName(entry.key()));
      }
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name, "': the model gives ",
                       absl::StrJoin(names, ", ")));
    }
    if (!IsServed(found->value())) {
      return NoTensor(absl::StrCat("'", output.name, "'"), found->value());
    }
    picked.push_back(found->value());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::pair<std::string, at::Tensor>>> NameOutputs(
    const c10::IValue& value, const std::vector<std::string>& fields) {
  std::vector<std::pair<std::string, c10::IValue>> named;
  const auto add_numbered = [&named](c10::ArrayRef<c10::IValue> values) {
    for (const c10::IValue& one : values) {
      named.emplace_back(absl::StrCat("OUTPUT__", named.size()), one);
    }
  };
  if (value.isTuple()) {
    add_numbered(value.toTupleRef().elements().asArrayRef());
    for (size_t i = 0; i < std::min(fields.size(), named.size()); ++i) {
      named[i].first = fields[i];
    }
  } else if (value.isList()) {
    add_numbered(value.toListRef());
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      named.emplace_back(KeyName(entry.key()), entry.value());
    }
  } else {
    add_numbered(value);
  }
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto& [name, one] : named) {
    if (!one.isTensor()) {
      return NoTensor(absl::StrCat("'", name, "'"), one);
    }
    tensors.emplace_back(name, one.toTensor());
  }
  if (tensors.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "outputs: expected tensors, the model gives none", kAdvice));
  }
  return tensors;
}

}  // namespace ferry
