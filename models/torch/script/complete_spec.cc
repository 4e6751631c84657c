// Implements CompleteSpec: runs probe forwards and compares their outputs.
#include "models/torch/script/complete_spec.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/failure_reason.h"
#include "models/torch/division_guard.h"
#include "models/torch/network.h"
#include "models/torch/script/cast_module.h"
#include "models/torch/script/script_outputs.h"
#include "models/torch/script/script_signature.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

using Tensors = std::vector<at::Tensor>;
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// One of two probes; sizes of outputs that differ between them vary.
struct Probe {
  int64_t rows;
  int64_t any_size;  // in place of kAnySize
};
constexpr Probe kProbes[] = {{2, 16}, {3, 17}};

// How far rows alone and together may differ, in fp32 and fp64; floats of 16
// bits have 8 or 11 bits of digits.
constexpr double kTolerance = 1e-3;
constexpr double kTolerance16 = 3e-2;

enum class Row { kOne, kOther };

// Returns one row like those of the example, whose values the file does not
// keep. Numbers that most models take, and that differ between the two.
at::Tensor MakeRow(const at::Tensor& example, Row row) {
  std::vector<int64_t> sizes = example.sizes().vec();
  const int64_t count = example.numel() / sizes[0];
  sizes[0] = 1;
  if (!example.is_floating_point()) {
    return at::full(sizes, row == Row::kOne ? 1 : 0, example.scalar_type());
  }
  const at::Tensor steps = at::arange(count, at::kFloat);
  return (row == Row::kOne ? steps.sin() : steps.cos())
      .view(sizes)
      .to(example.scalar_type());
}

bool AreClose(const at::Tensor& a, const at::Tensor& b) {
  const double tolerance = a.is_floating_point() && a.element_size() == 2
                               ? kTolerance16
                               : kTolerance;
  return at::allclose(a, b, tolerance, tolerance, true);
}

class SpecCompletion {
 public:
  SpecCompletion(const std::string& path, torch::jit::Module& module,
                 ModelOptions& options)
      : path_(path), module_(module), options_(options), spec_(options.spec) {}

  absl::Status Run() {
    is_fp32_ = options_.precision != Precision::kNative;
    is_cast_ = is_fp32_ && CastFloats(module_, at::kFloat);
    has_given_inputs_ = !spec_.inputs.empty();
    const bool says_nothing = spec_.inputs.empty() && spec_.outputs.empty() &&
                              spec_.max_batch_size == 0;
    if (spec_.inputs.empty()) {
      if (absl::Status status = FindInputs(says_nothing); !status.ok()) {
        return status;
      }
    }
    absl::Status status =
        spec_.outputs.empty() ? FindOutputs() : absl::OkStatus();
    if (is_cast_ && is_fp32_) {
      Reload();  // buffers keep the digits of the file
    }
    return status;
  }

 private:
  // --- inputs ---------------------------------------------------------------

  absl::Status FindInputs(bool says_nothing) {
    // The keys of a dict are not among the arguments.
    const Tensors examples =
        TakesDict(module_) ? Tensors() : TracedInputs(path_);
    if (examples.empty()) {
      return Ask(
          "the file does not keep the types and sizes of its inputs "
          "(a traced one does)");
    }
    const auto arguments = ArgumentsOf(module_, examples.size());
    if (!arguments.ok()) {
      return arguments.status();
    }
    if (says_nothing && ComputesRowByRow(examples)) {
      spec_.max_batch_size = kDefaultMaxBatchSize;
    }
    for (size_t i = 0; i < examples.size(); ++i) {
      const at::IntArrayRef sizes = examples[i].sizes();
      const size_t first = spec_.max_batch_size > 0 ? 1 : 0;
      const auto type = FromScalarType(examples[i].scalar_type());
      if (!type.has_value() || sizes.size() < first) {
        spec_.inputs.clear();
        return Ask(absl::StrCat(
            "the example of '", (*arguments)[i].name, "' is ",
            c10::toString(examples[i].scalar_type()), " [",
            absl::StrJoin(sizes, ","), "], which is no input of a batch"));
      }
      spec_.inputs.push_back(
          {(*arguments)[i].name, *type, sizes.slice(first).vec()});
    }
    return absl::OkStatus();
  }

  // Whether the outputs for two rows are those for each of them alone.
  bool ComputesRowByRow(const Tensors& examples) {
    Tensors one, other, both;
    for (const at::Tensor& example : examples) {
      if (example.dim() == 0 || example.size(0) < 1) {
        return false;
      }
      one.push_back(MakeRow(example, Row::kOne));
      other.push_back(MakeRow(example, Row::kOther));
      both.push_back(at::cat({other.back(), one.back()}));
    }
    const auto of_one = Forward(one);
    if (!of_one.ok()) {
      return false;
    }
    const auto of_other = Forward(other);
    const auto of_both = Forward(both);
    if (!of_other.ok() || !of_both.ok() || of_one->size() != of_both->size() ||
        of_other->size() != of_both->size()) {
      return false;
    }
    for (size_t i = 0; i < of_both->size(); ++i) {
      const at::Tensor& found = (*of_both)[i].second;
      const at::Tensor& first = (*of_other)[i].second;
      const at::Tensor& second = (*of_one)[i].second;
      if (found.dim() == 0 || first.dim() == 0 || second.dim() == 0 ||
          first.sizes().slice(1) != second.sizes().slice(1)) {
        return false;
      }
      const at::Tensor expected = at::cat({first, second});
      if (first.size(0) != 1 || found.sizes() != expected.sizes() ||
          found.scalar_type() != expected.scalar_type() ||
          !AreClose(found, expected)) {
        return false;
      }
    }
    return true;
  }

  // --- outputs --------------------------------------------------------------

  absl::Status FindOutputs() {
    for (const TensorSpec& input : spec_.inputs) {
      if (input.type == DataType::kBytes) {
        return Ask("probe forwards are not made with strings");
      }
    }
    std::vector<NamedTensors> found;
    for (const Probe& probe : kProbes) {
      absl::StatusOr<NamedTensors> outputs = Forward(MakeInputs(probe));
      if (!outputs.ok()) {
        return Ask(absl::StrCat("a probe forward with zeros failed: ",
                                outputs.status().message(), AdviceOnInputs()));
      }
      found.push_back(*std::move(outputs));
    }
    if (found[0].size() != found[1].size()) {
      return Ask("probe forwards gave differing numbers of outputs");
    }
    std::vector<TensorSpec> outputs;
    for (size_t i = 0; i < found[0].size(); ++i) {
      const auto& [name, first] = found[0][i];
      const auto type = FromScalarType(first.scalar_type());
      const auto dims = Dims(first.sizes(), found[1][i].second.sizes());
      if (!type.has_value() || !dims.has_value()) {
        return Ask(absl::StrCat(
            "probe forwards with ", kProbes[0].rows, " and ", kProbes[1].rows,
            " rows gave ", c10::toString(first.scalar_type()), " [",
            absl::StrJoin(first.sizes(), ","), "] and [",
            absl::StrJoin(found[1][i].second.sizes(), ","), "] for '", name,
            "', which is no output of a batch"));
      }
      outputs.push_back({name, *type, *dims});
    }
    spec_.outputs = std::move(outputs);
    return absl::OkStatus();
  }

  // What to look at first where the config has the inputs.
  std::string AdviceOnInputs() const {
    if (!has_given_inputs_) {
      return "";
    }
    const Tensors examples =
        TakesDict(module_) ? Tensors() : TracedInputs(path_);
    return absl::StrCat(
        "; check the types and dims of the inputs first",
        examples.empty() ? "" : ", the file was traced with ",
        absl::StrJoin(
            examples, " and ", [](std::string* out, const at::Tensor& example) {
              absl::StrAppend(out, c10::toString(example.scalar_type()), " [",
                              absl::StrJoin(example.sizes(), ","), "]");
            }));
  }

  Tensors MakeInputs(const Probe& probe) const {
    Tensors inputs;
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      const bool is_reshaped = !options_.input_reshapes.empty() &&
                               options_.input_reshapes[i].has_value();
      const bool is_normalized = !options_.normalizations.empty() &&
                                 options_.normalizations[i].has_value();
      std::vector<int64_t> shape =
          is_reshaped ? *options_.input_reshapes[i] : spec_.inputs[i].dims;
      if (is_normalized) {
        shape = ModelDims(*options_.normalizations[i], shape);
      }
      std::replace(shape.begin(), shape.end(), kAnySize, probe.any_size);
      if (spec_.max_batch_size > 0) {
        shape.insert(shape.begin(), probe.rows);
      }
      inputs.push_back(
          at::zeros(shape, is_normalized ? at::kFloat
                                         : ToScalarType(spec_.inputs[i].type)));
    }
    return inputs;
  }

  // Dims of one row from the shapes of both probes; nothing where they are not
  // those of batches.
  std::optional<std::vector<int64_t>> Dims(at::IntArrayRef first,
                                           at::IntArrayRef second) const {
    const size_t begin = spec_.max_batch_size > 0 ? 1 : 0;
    if (first.size() != second.size() || first.size() < begin ||
        (begin == 1 &&
         (first[0] != kProbes[0].rows || second[0] != kProbes[1].rows))) {
      return std::nullopt;
    }
    std::vector<int64_t> dims;
    for (size_t i = begin; i < first.size(); ++i) {
      if (first[i] == 0 || second[i] == 0) {
        return std::nullopt;  // of the zeros that went in, perhaps
      }
      dims.push_back(first[i] == second[i] ? first[i] : kAnySize);
    }
    return dims;
  }

  // --- both -----------------------------------------------------------------

  // Runs forward() in fp32 and, where that fails and floats of the file or of
  // the inputs are others, in those: it may cast by itself.
  absl::StatusOr<NamedTensors> Forward(const Tensors& inputs) {
    absl::StatusOr<NamedTensors> outputs = ForwardOnce(inputs);
    if (outputs.ok() || !is_fp32_ || !(is_cast_ || HasOtherFloats(inputs))) {
      return outputs;
    }
    is_fp32_ = false;
    if (is_cast_) {
      Reload();
    }
    absl::StatusOr<NamedTensors> native = ForwardOnce(inputs);
    if (native.ok()) {
      return native;
    }
    is_fp32_ = true;
    CastFloats(module_, at::kFloat);
    return absl::InvalidArgumentError(absl::StrCat(
        outputs.status().message(),
        "; in the types of the file: ", native.status().message()));
  }

  static bool HasOtherFloats(const Tensors& inputs) {
    return std::any_of(inputs.begin(), inputs.end(), [](const at::Tensor& one) {
      return one.is_floating_point() && one.scalar_type() != at::kFloat;
    });
  }

  void Reload() {
    const c10::InferenceMode weights_can_be_cast(false);
    module_ = torch::jit::Module();  // not both at a time
    module_ = torch::jit::load(path_, at::kCPU);
    module_.eval();
  }

  // REQUIRES: the spec has inputs where forward() takes a dict.
  absl::StatusOr<NamedTensors> ForwardOnce(const Tensors& inputs) {
    if (TakesDict(module_)) {
      c10::Dict<std::string, at::Tensor> dict;
      for (size_t i = 0; i < inputs.size(); ++i) {
        dict.insert(spec_.inputs[i].name, AsTaken(inputs[i]));
      }
      return Call({std::move(dict)});
    }
    std::vector<TensorSpec> given = spec_.inputs;
    given.resize(inputs.size());
    const auto signature = ArgumentsOf(module_, inputs.size());
    if (!signature.ok()) {
      return signature.status();
    }
    const auto places = PlaceInputs(given, *signature);
    if (!places.ok()) {
      return places.status();
    }
    std::vector<c10::IValue> arguments;
    for (const Argument& argument : *signature) {
      arguments.push_back(argument.absent);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      arguments[(*places)[i]] = AsTaken(inputs[i]);
    }
    return Call(std::move(arguments));
  }

  at::Tensor AsTaken(const at::Tensor& input) const {
    return is_fp32_ && input.is_floating_point() ? input.to(at::kFloat) : input;
  }

  absl::StatusOr<NamedTensors> Call(std::vector<c10::IValue> arguments) {
    const DivisionGuard divisions;  // of the zeros that it is probed with
    try {
      return NameOutputs(module_.forward(std::move(arguments)),
                         OutputFields(module_));
    } catch (const c10::Error& error) {
      return absl::InvalidArgumentError(
          AsFailure(error.what_without_backtrace()).message());
    } catch (const std::exception& error) {
      return absl::InvalidArgumentError(AsFailure(error.what()).message());
    }
  }

  // Says what was found and what to write.
  absl::Status Ask(const std::string& found) const {
    std::vector<std::string> lines;
    if (spec_.inputs.empty() && TakesDict(module_)) {
      lines.push_back(Line("input", "...", "Tensor", false));  // a key of it
    } else if (spec_.inputs.empty()) {
      const size_t count = module_.get_method("forward").num_inputs() - 1;
      const auto arguments = ArgumentsOf(module_, count);
      if (!arguments.ok()) {
        return arguments.status();
      }
      for (const Argument& argument : *arguments) {
        if (argument.has_default && !IsTensorType(argument.type) &&
            !IsStringsType(argument.type)) {
          continue;  // a number or the like: it keeps its default
        }
        lines.push_back(Line("input", argument.name, argument.type,
                             argument.has_default || argument.may_be_none));
      }
    }
    if (spec_.outputs.empty()) {
      const std::vector<std::string> types = OutputTypes(module_);
      const std::vector<std::string> fields = OutputFields(module_);
      for (size_t i = 0; i < types.size(); ++i) {
        lines.push_back(Line("output",
                             i < fields.size() ? fields[i]
                             : absl::StartsWith(types[i], "Dict[")
                                 ? "..."  // a key of it
                                 : absl::StrCat("OUTPUT__", i),
                             types[i], false));
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the config cannot be completed: ", found, "; found ",
        SignatureText(module_),
        "; write into config.pbtxt (for --model: as --input and --output), "
        "with the types and sizes of one row:\n",
        spec_.inputs.empty() && spec_.max_batch_size == 0
            ? "max_batch_size: 64\ndynamic_batching {}\n"
            : "",
        absl::StrJoin(lines, "\n")));
  }

  static std::string Line(const char* side, const std::string& name,
                          const std::string& type, bool is_optional) {
    return absl::StrCat(
        side, " { name: \"", name,
        "\" data_type: ", IsStringsType(type) ? "TYPE_STRING" : "TYPE_...",
        " dims: [ ... ]", is_optional ? " optional: true" : "", " }");
  }

  const std::string& path_;
  torch::jit::Module& module_;
  const ModelOptions& options_;
  ModelSpec& spec_;
  bool has_given_inputs_ = false;
  bool is_fp32_ = false;  // floats go in as fp32
  bool is_cast_ = false;  // and the file has others
};

}  // namespace

absl::Status CompleteSpec(const std::string& path, torch::jit::Module& module,
                          ModelOptions& options) {
  if (!options.spec.inputs.empty() && !options.spec.outputs.empty()) {
    return absl::OkStatus();
  }
  if (!module.find_method("forward").has_value()) {
    return absl::InvalidArgumentError("expected a module with forward()");
  }
  module.eval();
  at::set_num_threads(options.threads);
  const c10::InferenceMode no_gradients;
  const bool has_inputs = !options.spec.inputs.empty();
  const absl::Status status = SpecCompletion(path, module, options).Run();
  if (!has_inputs && options.spec.max_batch_size > 0) {
    options.batching = Batching::kAcrossRequests;  // as CompleteConfig() does
  }
  return status;
}

}  // namespace ferry
