// Sample by sample, input by input.
#include "models/config_warm_up.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "batcher/checked_math.h"
#include "models/config_reader.h"

namespace ferry {
namespace {

constexpr int kMaxSamples = 64;
constexpr uint32_t kMaxCount = 1000;
constexpr int64_t kMaxElements = int64_t{1} << 26;

using Sample = inference::ModelWarmup;

// Whether a row of the sample is one of the input's.
bool Fits(const std::vector<int64_t>& dims, const TensorSpec& input) {
  return std::equal(dims.begin(), dims.end(), input.dims.begin(),
                    input.dims.end(), [](int64_t given, int64_t expected) {
                      return expected == kAnySize || expected == given;
                    });
}

class WarmUpReader {
 public:
  WarmUpReader(const Sample& message, const ConfigNode& node,
               const ModelSpec& spec, ConfigFindings& findings)
      : message_(message), node_(node), spec_(spec), findings_(findings) {}

  WarmUpSample Read() {
    WarmUpSample sample;
    sample.name = message_.name();
    sample.count = static_cast<int32_t>(std::max(message_.count(), 1U));
    if (message_.count() > kMaxCount) {
      Add("count", absl::StrCat("field 'model_warmup.count': expected at most ",
                                kMaxCount, ", got ", message_.count()));
    }
    const auto max_rows = static_cast<uint32_t>(spec_.max_batch_size);
    if (message_.batch_size() > std::max(max_rows, 1U)) {
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
    findings_.Add(node_.Line(field), text);
  }

  // Lines of a map's entries cannot be told apart by key.
  void AddOfInput(const std::string& name, const std::string& text) {
    findings_.Add(
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
    if (!has_sizes ||
        ElementCount(read.dims).value_or(INT64_MAX) > kMaxElements) {
      AddOfInput(name, absl::StrCat("expected dims of at least 1, of at most ",
                                    kMaxElements, " elements in all, got [",
                                    absl::StrJoin(input.dims(), ","), "]"));
    }
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
        if (read.type == DataType::kBytes) {
          AddOfInput(name,
                     "expected zero_data or input_data_file for TYPE_STRING, "
                     "got random_data");
        }
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
    const auto input =
        std::find_if(spec_.inputs.begin(), spec_.inputs.end(),
                     [&](const TensorSpec& one) { return one.name == name; });
    if (input == spec_.inputs.end()) {
      AddOfInput(name, "expected an input of the model");
    } else if (input->type != read.type || !Fits(read.dims, *input)) {
      AddOfInput(name, absl::StrCat("expected ", DataTypeName(input->type),
                                    " [", absl::StrJoin(input->dims, ","),
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
  ConfigFindings& findings_;
};

}  // namespace

void ReadConfigWarmUp(const inference::ModelConfig& message,
                      const ConfigNode& node, ModelOptions& options,
                      ConfigFindings& findings) {
  if (message.model_warmup_size() > kMaxSamples) {
    findings.Add(
        node.Line("model_warmup", 0),
        absl::StrCat("field 'model_warmup': expected at most ", kMaxSamples,
                     " samples, got ", message.model_warmup_size()));
    return;
  }
  if (message.model_warmup_size() > 0 &&
      (options.backend == BackendKind::kEcho ||
       options.backend == BackendKind::kSimulated)) {
    findings.Add(node.Line("model_warmup", 0),
                 "field 'model_warmup' is not of this backend: remove it");
    return;
  }
  for (int i = 0; i < message.model_warmup_size(); ++i) {
    options.warm_up.push_back(WarmUpReader(message.model_warmup(i),
                                           node.Child("model_warmup", i),
                                           options.spec, findings)
                                  .Read());
  }
}

}  // namespace ferry
