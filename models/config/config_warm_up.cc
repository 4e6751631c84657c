// Implements ReadConfigWarmUp: reads sample by sample, input by input.
#include "models/config/config_warm_up.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "models/config/config_reader.h"

namespace ferry {
namespace {

constexpr int kMaxSamples = 64;
constexpr uint32_t kMaxCount = 1000;
constexpr int64_t kMaxBytes = int64_t{256} << 20;  // of all samples
constexpr int64_t kTextBytes = 12;  // of one drawn, its length included

using Sample = inference::ModelWarmup;

// Bytes of one row; more than all samples may have where they cannot be
// counted.
int64_t BytesOf(const WarmUpSample::Input& input) {
  const int64_t size = input.type == DataType::kBytes
                           ? kTextBytes
                           : static_cast<int64_t>(ElementSize(input.type));
  const int64_t elements = ElementCount(input.dims).value_or(kMaxBytes + 1);
  return CheckedMultiply(elements, size).value_or(kMaxBytes + 1);
}

class WarmUpReader {
 public:
  WarmUpReader(const Sample& message, const ConfigNode& node,
               const ModelSpec& spec, int64_t& bytes_left,
               ConfigDiagnostics& diagnostics)
      : message_(message),
        node_(node),
        spec_(spec),
        bytes_left_(bytes_left),
        diagnostics_(diagnostics) {}

  WarmUpSample Read() {
    WarmUpSample sample;
    sample.name = message_.name();
    sample.count = static_cast<int32_t>(std::max(message_.count(), 1U));
    if (message_.count() > kMaxCount) {
      Add("count", absl::StrCat("field 'model_warmup.count': expected at most ",
                                kMaxCount, ", got ", message_.count()));
    }
    const auto max_rows = static_cast<uint32_t>(spec_.max_batch_size);
    sample.rows = static_cast<int32_t>(
        std::clamp(message_.batch_size(), 1U, std::max(max_rows, 1U)));
    // Where it names no inputs, the model's file may say more.
    if (message_.batch_size() > std::max(max_rows, 1U) &&
        !spec_.inputs.empty()) {
      Add("batch_size",
          absl::StrCat("field 'model_warmup.batch_size': expected at most "
                       "max_batch_size, ",
                       max_rows, ", got ", message_.batch_size()));
    }
    for (const auto& [name, input] : message_.inputs()) {
      sample.inputs[name] = ReadInput(name, input);
    }
    CheckAllGiven();
    return sample;
  }

 private:
  void Add(absl::string_view field, const std::string& text) {
    diagnostics_.Add(node_.Line(field), text);
  }

  // Lines of a map's entries cannot be told apart by key.
  void AddOfInput(const std::string& name, const std::string& text) {
    diagnostics_.Add(
        node_.Line("inputs", 0),
        absl::StrCat("field 'model_warmup.inputs' of '", name, "': ", text));
  }

  WarmUpSample::Input ReadInput(const std::string& name,
                                const Sample::Input& input) {
    WarmUpSample::Input read;
    const std::optional<DataType> type = FromConfigType(input.data_type());
    read.type = type.value_or(DataType::kFp32);
    read.dims.assign(input.dims().begin(), input.dims().end());
    if (!type.has_value()) {
      AddOfInput(name, absl::StrCat("expected a data_type, got ",
                                    EnumName(input.data_type())));
    }
    const bool has_sizes = std::all_of(read.dims.begin(), read.dims.end(),
                                       [](int64_t dim) { return dim >= 1; });
    const int64_t bytes = has_sizes ? BytesOf(read) : kMaxBytes + 1;
    if (bytes > bytes_left_) {
      AddOfInput(name, absl::StrCat("expected dims of at least 1, of at most ",
                                    kMaxBytes, " bytes in all samples, got [",
                                    absl::StrJoin(input.dims(), ","), "]"));
    }
    bytes_left_ -= std::min(bytes, bytes_left_);
    ReadData(name, input, read);
    CheckFits(name, read);
    return read;
  }

  void ReadData(const std::string& name, const Sample::Input& input,
                WarmUpSample::Input& read) {
    switch (input.input_data_type_case()) {
      case Sample::Input::kZeroData:
        read.data = WarmUpSample::Data::kZeros;
        return;
      case Sample::Input::kRandomData:
        read.data = WarmUpSample::Data::kRandom;
        return;
      case Sample::Input::kInputDataFile:
        read.data = WarmUpSample::Data::kFile;
        read.file = input.input_data_file();
        if (read.file.empty() || read.file.find('/') != std::string::npos ||
            read.file == "..") {
          AddOfInput(name,
                     absl::StrCat("expected the name of a file in the model's "
                                  "folder 'warmup', got '",
                                  read.file, "'"));
        }
        return;
      default:
        AddOfInput(name,
                   "expected zero_data, random_data or input_data_file, got "
                   "none");
    }
  }

  void CheckFits(const std::string& name, const WarmUpSample::Input& read) {
    if (spec_.inputs.empty()) {
      return;  // the model's file says which there are
    }
    const std::optional<size_t> found = FindTensor(spec_.inputs, name);
    if (!found.has_value()) {
      AddOfInput(name, "expected an input of the model");
      return;
    }
    const TensorSpec& input = spec_.inputs[*found];
    if (input.type != read.type || !MatchesSizes(input.dims, read.dims)) {
      AddOfInput(name, absl::StrCat("expected ", DataTypeName(input.type), " [",
                                    absl::StrJoin(input.dims, ","),
                                    "] without the batch dimension, got ",
                                    DataTypeName(read.type), " [",
                                    absl::StrJoin(read.dims, ","), "]"));
    }
  }

  void CheckAllGiven() {
    for (const TensorSpec& input : spec_.inputs) {
      if (!input.is_optional && message_.inputs().count(input.name) == 0) {
        AddOfInput(input.name, "expected it in each sample, got none");
      }
    }
  }

  const Sample& message_;
  const ConfigNode node_;
  const ModelSpec& spec_;
  int64_t& bytes_left_;  // of what all samples may have
  ConfigDiagnostics& diagnostics_;
};

}  // namespace

void ReadConfigWarmUp(const inference::ModelConfig& message,
                      const ConfigNode& node, ModelOptions& options,
                      ConfigDiagnostics& diagnostics) {
  if (message.model_warmup_size() > kMaxSamples) {
    diagnostics.Add(
        node.Line("model_warmup", 0),
        absl::StrCat("field 'model_warmup': expected at most ", kMaxSamples,
                     " samples, got ", message.model_warmup_size()));
    return;
  }
  if (message.model_warmup_size() > 0 &&
      (options.backend == BackendKind::kEcho ||
       options.backend == BackendKind::kSimulated)) {
    diagnostics.Add(node.Line("model_warmup", 0),
                    "field 'model_warmup' is not of this backend: remove it");
    return;
  }
  int64_t bytes_left = kMaxBytes;
  for (int i = 0; i < message.model_warmup_size(); ++i) {
    options.warm_up.push_back(
        WarmUpReader(message.model_warmup(i), node.Child("model_warmup", i),
                     options.spec, bytes_left, diagnostics)
            .Read());
  }
}

}  // namespace ferry
