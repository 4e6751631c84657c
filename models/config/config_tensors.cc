// Implements ReadConfigTensors: checks names, types and dims.
#include "models/config/config_tensors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/config/config_reader.h"
#include "models/config/config_reshapes.h"

namespace ferry {
namespace {

constexpr int32_t kMaxBatchSize = 65'536;
constexpr int kMaxRank = 8;
constexpr int kMaxTensors = 64;

// Whether LibTorch computes with the type.
bool IsTensorType(DataType type) {
  return type != DataType::kBytes && type != DataType::kUint16 &&
         type != DataType::kUint32 && type != DataType::kUint64;
}

class TensorReader {
 public:
  TensorReader(const inference::ModelConfig& message, const ConfigNode& node,
               ModelOptions& options, ConfigDiagnostics& diagnostics)
      : message_(message),
        node_(node),
        options_(options),
        diagnostics_(diagnostics) {}

  void Read() {
    const int32_t rows = message_.max_batch_size();
    if (rows < 0 || rows > kMaxBatchSize) {
      diagnostics_.Add(node_.Line("max_batch_size"),
                       absl::StrCat("field 'max_batch_size': expected 0 to ",
                                    kMaxBatchSize, ", got ", rows));
    }
    options_.spec.max_batch_size = rows;
    options_.spec.inputs = ReadSide(message_.input(), "input");
    ReadOptionalInputs();
    options_.spec.outputs = ReadSide(message_.output(), "output");
    ReadReshapes(message_, node_, options_, diagnostics_);
    ReadLabelFiles();
  }

 private:
  void ReadLabelFiles() {
    for (int i = 0; i < message_.output_size(); ++i) {
      const std::string& file = message_.output(i).label_filename();
      if (file.find('/') != std::string::npos) {
        diagnostics_.Add(
            node_.Child("output", i).Line("label_filename"),
            absl::StrCat("field 'output.label_filename': expected the name of "
                         "a file in the model's folder, got '",
                         file, "'"));
      }
      options_.label_files.push_back(file);
    }
  }

  void ReadOptionalInputs() {
    for (size_t at = 0; at < options_.spec.inputs.size(); ++at) {
      const int i = static_cast<int>(at);
      options_.spec.inputs[at].is_optional = message_.input(i).optional();
      if (message_.input(i).optional() &&
          options_.backend != BackendKind::kTorchScript) {
        diagnostics_.Add(
            node_.Child("input", i).Line("optional"),
            absl::StrCat("field 'input.optional' of '",
                         message_.input(i).name(),
                         "': expected a TorchScript model, whose forward() "
                         "has a default for it, got another backend"));
      }
    }
  }

  template <typename Tensors>
  std::vector<TensorSpec> ReadSide(const Tensors& tensors,
                                   absl::string_view side) {
    std::vector<TensorSpec> specs;
    std::set<std::string> names;
    // What the config of a TorchScript model leaves out is found at load.
    if (tensors.empty() && options_.backend == BackendKind::kTorchScript) {
      return specs;
    }
    if (tensors.empty() || tensors.size() > kMaxTensors) {
      diagnostics_.Add(
          Place(), absl::StrCat("field '", side, "': expected 1 to ",
                                kMaxTensors, " tensors, got ", tensors.size()));
      return specs;
    }
    for (int i = 0; i < tensors.size(); ++i) {
      specs.push_back(ReadTensor(tensors[i], side, node_.Child(side, i)));
      if (!names.insert(specs.back().name).second) {
        diagnostics_.Add(node_.Line(side, i),
                         absl::StrCat("field '", side, ".name': '",
                                      specs.back().name, "' stands twice"));
      }
    }
    return specs;
  }

  template <typename Tensor>
  TensorSpec ReadTensor(const Tensor& tensor, absl::string_view side,
                        const ConfigNode& node) {
    TensorSpec spec;
    spec.name = tensor.name();
    if (spec.name.empty()) {
      diagnostics_.Add(
          node.Line("name"),
          absl::StrCat("field '", side, ".name': expected a name"));
    }
    const std::optional<DataType> type = FromConfigType(tensor.data_type());
    if (!type.has_value() || !IsServed(*type)) {
      diagnostics_.Add(
          node.Line("data_type"),
          absl::StrCat("field '", side, ".data_type' of '", spec.name,
                       "': expected a type that the backend takes, got ",
                       EnumName(tensor.data_type())));
    }
    spec.type = type.value_or(DataType::kFp32);
    spec.dims.assign(tensor.dims().begin(), tensor.dims().end());
    if (tensor.dims_size() > kMaxRank) {
      diagnostics_.Add(node.Line("dims", 0),
                       absl::StrCat("field '", side, ".dims' of '", spec.name,
                                    "': expected at most ", kMaxRank,
                                    " dimensions, got ", tensor.dims_size()));
    }
    for (int i = 0; i < tensor.dims_size(); ++i) {
      if (tensor.dims(i) != kAnySize &&
          (tensor.dims(i) < 1 || tensor.dims(i) > INT32_MAX)) {
        diagnostics_.Add(node.Line("dims", i),
                         absl::StrCat("field '", side, ".dims' of '", spec.name,
                                      "': expected -1 or 1 to ", INT32_MAX,
                                      ", got ", tensor.dims(i)));
      }
    }
    if (side == "output" && spec.type == DataType::kBytes &&
        options_.backend == BackendKind::kTorchScript &&
        std::count(spec.dims.begin(), spec.dims.end(), kAnySize) > 1) {
      diagnostics_.Add(node.Line("dims", 0),
                       absl::StrCat("field 'output.dims' of '", spec.name,
                                    "': expected at most one -1, as a list of "
                                    "strings has no shape"));
    }
    return spec;
  }

  bool IsServed(DataType type) const {
    switch (options_.backend) {
      case BackendKind::kSimulated:
      case BackendKind::kEcho:
        return true;
      case BackendKind::kTorchScript:
        return IsTensorType(type) || type == DataType::kBytes;
      case BackendKind::kAotInductor:
      case BackendKind::kNetwork:
        return IsTensorType(type);
    }
    return false;
  }

  const inference::ModelConfig& message_;
  const ConfigNode& node_;
  ModelOptions& options_;
  ConfigDiagnostics& diagnostics_;
};

}  // namespace

void ReadConfigTensors(const inference::ModelConfig& message,
                       const ConfigNode& node, ModelOptions& options,
                       ConfigDiagnostics& diagnostics) {
  TensorReader(message, node, options, diagnostics).Read();
}

std::string NamesOf(const std::vector<TensorSpec>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const auto& spec) {
    out->append(spec.name);
  });
}

}  // namespace ferry
