// Implements LoadWeights: matches the names of a file with those of a module.
#include "models/torch/networks/load_weights.h"

#include <ATen/Functions.h>

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "models/files/safetensors.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// Counts batches in training; says nothing about the forward.
constexpr char kBatchCounter[] = "num_batches_tracked";

std::map<std::string, at::Tensor> Targets(torch::nn::Module& module) {
  std::map<std::string, at::Tensor> targets;
  for (const auto& entry : module.named_parameters()) {
    targets[entry.key()] = entry.value();
  }
  for (const auto& entry : module.named_buffers()) {
    if (!absl::EndsWith(entry.key(), kBatchCounter)) {
      targets[entry.key()] = entry.value();
    }
  }
  return targets;
}

// Returns the prefix that all names of the file have, or "".
std::string CommonPrefix(const SafetensorsFile& file) {
  for (const char* prefix : {"bert.", "model."}) {
    bool is_common = !file.tensors().empty();
    for (const SafetensorsTensor& tensor : file.tensors()) {
      is_common = is_common && absl::StartsWith(tensor.name, prefix);
    }
    if (is_common) {
      return prefix;
    }
  }
  return "";
}

bool IsPassedOver(const std::string& name,
                  const std::vector<std::string>& pass_over) {
  for (const std::string& beginning : pass_over) {
    if (absl::StartsWith(name, beginning)) {
      return true;
    }
  }
  return absl::EndsWith(name, kBatchCounter);
}

std::string Describe(const SafetensorsTensor& found,
                     const at::Tensor& expected) {
  const bool is_float = found.type == DataType::kFp32 ||
                        found.type == DataType::kFp16 ||
                        found.type == DataType::kBf16;
  if (is_float && at::IntArrayRef(found.shape) == expected.sizes()) {
    return "";
  }
  return absl::StrCat("'", found.name, "': expected F32, F16 or BF16 [",
                      absl::StrJoin(expected.sizes(), ","), "], found ",
                      DataTypeName(found.type), " [",
                      absl::StrJoin(found.shape, ","), "]");
}

absl::Status Copy(const SafetensorsFile& file, const SafetensorsTensor& from,
                  at::Tensor to) {
  at::Tensor own = at::empty(from.shape, ToScalarType(from.type));
  absl::Status status =
      file.Read(from, {static_cast<std::byte*>(own.data_ptr()), own.nbytes()});
  if (status.ok()) {
    to.copy_(own);
  }
  return status;
}

void AppendList(const char* what, const std::vector<std::string>& items,
                std::string& text) {
  if (!items.empty()) {
    absl::StrAppend(&text, "; ", what, " (", items.size(),
                    "): ", absl::StrJoin(items, ", "));
  }
}

}  // namespace

absl::Status LoadWeights(torch::nn::Module& module, const std::string& path,
                         const std::vector<std::string>& pass_over) {
  absl::StatusOr<std::unique_ptr<SafetensorsFile>> file =
      SafetensorsFile::Open(path);
  if (!file.ok()) {
    return file.status();
  }
  const std::string prefix = CommonPrefix(**file);
  std::map<std::string, at::Tensor> missing = Targets(module);
  std::vector<std::string> surplus;
  std::vector<std::string> wrong;
  std::vector<std::pair<const SafetensorsTensor*, at::Tensor>> copies;
  for (const SafetensorsTensor& tensor : (*file)->tensors()) {
    const std::string name(absl::StripPrefix(tensor.name, prefix));
    const auto target = missing.find(name);
    if (target == missing.end()) {
      if (!IsPassedOver(name, pass_over)) {
        surplus.push_back(tensor.name);
      }
      continue;
    }
    if (std::string problem = Describe(tensor, target->second);
        !problem.empty()) {
      wrong.push_back(std::move(problem));
    }
    copies.emplace_back(&tensor, target->second);
    missing.erase(target);
  }
  std::vector<std::string> missing_names;
  for (const auto& [name, tensor] : missing) {
    missing_names.push_back(prefix + name);
  }
  std::string text;
  AppendList("missing", missing_names, text);
  AppendList("surplus", surplus, text);
  AppendList("of another shape or type", wrong, text);
  if (!text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "': expected the weights of the network", text));
  }
  const torch::NoGradGuard no_gradients;
  for (auto& [from, to] : copies) {
    if (absl::Status status = Copy(**file, *from, to); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace ferry
