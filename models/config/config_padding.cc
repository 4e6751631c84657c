// Implements ReadPad, ReadMask and ReadCut; FinishPadding checks all together.
#include "models/config/config_padding.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "models/config/config_tensors.h"
#include "tensor/padding.h"

namespace ferry {
namespace {

// What a tensor must be that has a key of its own, as in "an input ...".
std::string CheckTensor(const TensorSpec& spec) {
  if (spec.type == DataType::kBytes) {
    return "a type other than TYPE_STRING";
  }
  return std::count(spec.dims.begin(), spec.dims.end(), kAnySize) == 1
             ? ""
             : absl::StrCat("dims of '", spec.name, "' with one -1");
}

// Finds the tensor behind a key.
std::string FindPadded(std::vector<TensorSpec>& tensors, absl::string_view key,
                       absl::string_view name, TensorSpec*& tensor) {
  if (tensors.empty()) {
    return "inputs and outputs in the config, which it is about";
  }
  const std::optional<size_t> found = FindTensor(tensors, name);
  if (!found.has_value()) {
    return absl::StrCat("the name of a tensor after '", key,
                        "': ", NamesOf(tensors));
  }
  tensor = &tensors[*found];
  return CheckTensor(*tensor);
}

// Finds the input that `tensor` is to follow.
std::string Follow(absl::string_view name, const ModelSpec& spec,
                   TensorSpec& tensor) {
  const std::optional<size_t> input = FindTensor(spec.inputs, name);
  if (!input.has_value() || &spec.inputs[*input] == &tensor) {
    return absl::StrCat("the name of another input: ", NamesOf(spec.inputs));
  }
  if (tensor.follows.has_value() && tensor.follows != input) {
    return absl::StrCat("the input that another parameter names, '",
                        spec.inputs[*tensor.follows].name, "'");
  }
  tensor.follows = input;
  return CheckTensor(spec.inputs[*input]);
}

// Whether the tensor at `place` has an entry in a list that may be empty.
template <typename Entry>
bool Has(const std::vector<std::optional<Entry>>& entries, size_t place) {
  return place < entries.size() && entries[place].has_value();
}

// The diagnostics of all tensors, told of their own lines.
class Checker {
 public:
  Checker(const ModelOptions& options, const ConfigNode& config,
          ConfigDiagnostics& diagnostics)
      : options_(options), config_(config), diagnostics_(diagnostics) {}

  void CheckInput(size_t place) {
    const TensorSpec& input = options_.spec.inputs[place];
    if (input.follows.has_value()) {
      CheckFollower(place);
    }
    if (input.pads.empty()) {
      return;
    }
    if (Has(options_.input_reshapes, place) ||
        Has(options_.normalizations, place)) {
      AddInput(place, absl::StrCat("parameter '", kPadKey, input.name,
                                   "': expected an input without 'reshape' and "
                                   "'ferry.normalize.', '",
                                   input.name, "' has one"));
    }
    if (options_.spec.max_batch_size == 0) {
      AddInput(place,
               absl::StrCat("parameter '", kPadKey, input.name,
                            "': expected max_batch_size of 1 at least: rows "
                            "are padded to share a batch, got 0"));
    }
  }

  // An output that varies with padded inputs is of the padded size, too.
  void CheckOutput(size_t place, bool pads) {
    const TensorSpec& output = options_.spec.outputs[place];
    const std::string key = absl::StrCat(kCutKey, output.name);
    if (output.follows.has_value()) {
      const TensorSpec& input = options_.spec.inputs[*output.follows];
      if (input.pads.empty()) {
        AddOutput(place, absl::StrCat("parameter '", key,
                                      "': expected an input that is padded, '",
                                      input.name, "' lacks parameter '",
                                      kPadKey, input.name, "'"));
      }
      if (input.is_optional && !input.is_mask) {
        AddOutput(place, absl::StrCat("parameter '", key,
                                      "': expected an input that is in each "
                                      "request, '",
                                      input.name, "' is optional"));
      }
      if (Has(options_.output_reshapes, place)) {
        AddOutput(place,
                  absl::StrCat("parameter '", key,
                               "': expected an output without 'reshape', '",
                               output.name, "' has one"));
      }
    } else if (pads && VaryingDim(output.dims).has_value()) {
      AddOutput(place,
                absl::StrCat("output '", output.name, "': expected ",
                             output.type == DataType::kBytes
                                 ? "fixed dims, as TYPE_STRING is not cut"
                                 : absl::StrCat("fixed dims, or one -1 and "
                                                "parameter '",
                                                key,
                                                "' with the input whose size "
                                                "it has"),
                             ", as inputs are padded; got [",
                             absl::StrJoin(output.dims, ","), "]"));
    }
  }

 private:
  void CheckFollower(size_t place) {
    const TensorSpec& input = options_.spec.inputs[place];
    const TensorSpec& followed = options_.spec.inputs[*input.follows];
    const std::string has =
        absl::StrCat("input '", input.name, "' has the size of '",
                     followed.name, "': expected ");
    if (followed.follows.has_value()) {
      AddInput(place, has + "that to follow no other input");
    }
    if (followed.is_optional) {
      AddInput(place, has + "that to be in each request, it is optional");
    }
    if (!input.is_mask && followed.pads.empty()) {
      AddInput(place, absl::StrCat(has, "parameter '", kPadKey, followed.name,
                                   "' with sizes"));
    }
    if (input.is_mask &&
        input.dims.size() != static_cast<size_t>(std::count(
                                 input.dims.begin(), input.dims.end(), 1)) +
                                 1) {
      AddInput(place, absl::StrCat(has,
                                   "dims of a mask of one element each, "
                                   "as [ -1 ], got [",
                                   absl::StrJoin(input.dims, ","), "]"));
    }
  }

  void AddInput(size_t place, const std::string& text) {
    diagnostics_.Add(config_.Line("input", static_cast<int>(place)), text);
  }
  void AddOutput(size_t place, const std::string& text) {
    diagnostics_.Add(config_.Line("output", static_cast<int>(place)), text);
  }

  const ModelOptions& options_;
  const ConfigNode& config_;
  ConfigDiagnostics& diagnostics_;
};

}  // namespace

std::string ReadPad(absl::string_view input, absl::string_view text,
                    ModelOptions& options) {
  TensorSpec* spec = nullptr;
  std::string problem = FindPadded(options.spec.inputs, kPadKey, input, spec);
  if (!problem.empty()) {
    return problem;
  }
  if (FindTensor(options.spec.inputs, text).has_value()) {
    return Follow(text, options.spec, *spec);
  }
  std::vector<int64_t> pads;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size > INT32_MAX ||
        size <= (pads.empty() ? 0 : pads.back())) {
      return "ascending sizes with commas between, or another input's name";
    }
    pads.push_back(size);
  }
  spec->pads = std::move(pads);
  return "";
}

std::string ReadMask(absl::string_view input, absl::string_view text,
                     ModelOptions& options) {
  TensorSpec* spec = nullptr;
  std::string problem = FindPadded(options.spec.inputs, kMaskKey, input, spec);
  if (problem.empty()) {
    problem = Follow(text, options.spec, *spec);
  }
  if (problem.empty()) {
    spec->is_mask = true;
    spec->is_optional = true;
  }
  return problem;
}

std::string ReadCut(absl::string_view output, absl::string_view text,
                    ModelOptions& options) {
  TensorSpec* spec = nullptr;
  std::string problem = FindPadded(options.spec.outputs, kCutKey, output, spec);
  return problem.empty() ? Follow(text, options.spec, *spec) : problem;
}

void FinishPadding(const ConfigNode& config, ModelOptions& options,
                   ConfigDiagnostics& diagnostics) {
  std::vector<TensorSpec>& inputs = options.spec.inputs;
  bool pads = false;
  bool follows = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorSpec& input = inputs[i];
    if (input.follows.has_value()) {
      follows = true;
      if (!input.pads.empty()) {
        diagnostics.Add(
            config.Line("input", static_cast<int>(i)),
            absl::StrCat("input '", input.name, "' has the size of '",
                         inputs[*input.follows].name,
                         "': expected no sizes of its own to pad it "
                         "to"));
      }
      input.pads = inputs[*input.follows].pads;
    }
    pads = pads || !input.pads.empty();
  }
  Checker checker(options, config, diagnostics);
  for (size_t i = 0; i < inputs.size(); ++i) {
    checker.CheckInput(i);
  }
  for (size_t i = 0; i < options.spec.outputs.size(); ++i) {
    checker.CheckOutput(i, pads);
  }
  if ((pads || follows) && options.spec.outputs.empty()) {
    diagnostics.Add(
        Place(),
        "field 'output': expected the outputs, as inputs are padded "
        "or made, got none");
  }
}

}  // namespace ferry
