// Implements DescribeSingleModel: turns flags into a config.
#include "models/repository/single_model.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "models/config/config_reader.h"
#include "models/config/not_served.h"
#include "models/files/read_file.h"
#include "models/repository/repository_folder.h"
#include "tensor/data_type.h"
#include "tensor/tensor.h"

namespace ferry {
namespace {

constexpr int32_t kMaxBatchSize = 64;
constexpr size_t kMaxNameLength = 64;

struct Tensor {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> dims;  // the batch dimension included
};

absl::Status Wrong(absl::string_view flag, const std::string& text,
                   absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": expected ", expected, ", got '", text, "'"));
}

absl::StatusOr<Tensor> ReadTensor(absl::string_view flag,
                                  const std::string& text) {
  // A name may hold ':'.
  const size_t dims_at = text.rfind(':');
  const size_t type_at = dims_at == std::string::npos || dims_at == 0
                             ? std::string::npos
                             : text.rfind(':', dims_at - 1);
  if (type_at == std::string::npos || type_at == 0) {
    return Wrong(flag, text, "NAME:TYPE:DIMS as in x:FP32:-1,3,224,224");
  }
  Tensor tensor;
  tensor.name = text.substr(0, type_at);
  const std::optional<DataType> type =
      ParseDataType(text.substr(type_at + 1, dims_at - type_at - 1));
  if (!type.has_value()) {
    return Wrong(flag, text,
                 "a type after the name, as FP32, INT64, UINT8 or BYTES");
  }
  tensor.type = *type;
  for (absl::string_view part : absl::StrSplit(text.substr(dims_at + 1), ',')) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) ||
        (dim != kAnySize && (dim < 1 || dim > INT32_MAX))) {
      return Wrong(flag, text,
                   "sizes with commas between after the type, each -1 or 1 to "
                   "2147483647");
    }
    tensor.dims.push_back(dim);
  }
  return tensor;
}

absl::StatusOr<std::vector<Tensor>> ReadTensors(
    absl::string_view flag, const std::vector<std::string>& texts) {
  std::vector<Tensor> tensors;
  for (const std::string& text : texts) {
    absl::StatusOr<Tensor> tensor = ReadTensor(flag, text);
    if (!tensor.ok()) {
      return tensor.status();
    }
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

bool HasBatchDimension(const Tensor& tensor) {
  return tensor.dims.front() == kAnySize;
}

template <typename Repeated>
void Add(const std::vector<Tensor>& tensors, bool is_batched,
         Repeated& repeated) {
  for (const Tensor& tensor : tensors) {
    auto& added = *repeated.Add();
    added.set_name(tensor.name);
    added.set_data_type(ToConfigType(tensor.type));
    added.mutable_dims()->Add(tensor.dims.begin() + (is_batched ? 1 : 0),
                              tensor.dims.end());
  }
}

// The file's name without its ending, in letters that names are made of.
std::string NameOf(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
               c != '.' && c != '-';
      },
      '_');
  name.resize(std::min(name.size(), kMaxNameLength));
  if (!name.empty() && name[0] == '.') {
    name[0] = '_';
  }
  return name;
}

}  // namespace

absl::StatusOr<SingleModel> DescribeSingleModel(const SingleModelFlags& flags) {
  SingleModel model;
  model.path = flags.path;
  model.name = flags.name.empty() ? NameOf(flags.path) : flags.name;
  if (absl::Status status = CheckModelName(model.name); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--model-name: ", status.message()));
  }
  const auto inputs = ReadTensors("--input", flags.inputs);
  if (!inputs.ok()) {
    return inputs.status();
  }
  const auto outputs = ReadTensors("--output", flags.outputs);
  if (!outputs.ok()) {
    return outputs.status();
  }
  std::vector<Tensor> all = *inputs;
  all.insert(all.end(), outputs->begin(), outputs->end());
  const auto without =
      std::find_if_not(all.begin(), all.end(), HasBatchDimension);
  const bool is_batched = !all.empty() && without == all.end();
  if (const auto with = std::find_if(all.begin(), all.end(), HasBatchDimension);
      !is_batched && with != all.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--input and --output: expected -1, the batch dimension, first in each "
        "tensor or in none, got it in '",
        with->name, "' and not in '", without->name, "'"));
  }
  model.config.set_backend("pytorch");
  model.config.set_default_model_filename(
      std::filesystem::path(flags.path).filename().string());
  if (is_batched) {
    model.config.set_max_batch_size(kMaxBatchSize);
    model.config.mutable_dynamic_batching();
  }
  Add(*inputs, is_batched, *model.config.mutable_input());
  Add(*outputs, is_batched, *model.config.mutable_output());
  return model;
}

absl::Status CheckModelFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--model: expected a file, got the folder '", path,
                     "': for a folder of models use --model-repository"));
  }
  if (absl::Status status = CheckRegularFile(path); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("--model: ", status.message()));
  }
  const absl::string_view advice = AdviceOnFile(path);
  return advice.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(
                              absl::StrCat("--model: '", path, "': ", advice));
}

}  // namespace ferry
