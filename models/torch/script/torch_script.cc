// Implements LoadTorchScript: loads a module and fits it to the spec.
#include "models/torch/script/torch_script.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/codegen/fuser/interface.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/torch/script/complete_spec.h"
#include "models/torch/script/script_fit.h"
#include "models/torch/script/script_outputs.h"
#include "models/torch/script/script_signature.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// The profiling executor measures, specializes, and is then as it stays.
constexpr int kWarmUpRuns = 3;

// What oneDNN says of a packed layer whose input has another type or size than
// its weights; what it means is left to the reader.
constexpr char kNoKernel[] = "inner product forward propagation";

// What LibTorch says where code names CUDA on a processor: of an operator
// without a kernel there, or where it has no CUDA at all.
constexpr char kOfCuda[] = "from the 'CUDA' backend";

// The longest text of LibTorch that is told beside what is known of a file.
constexpr size_t kMaxToldBytes = 300;

// Whether its forward() may start tasks, which run on threads between
// operators; a call that is not inlined may do so, and an operator that is not
// LibTorch's may have threads of its own.
bool MayFork(torch::jit::Block* block) {
  return std::any_of(
      block->nodes().begin(), block->nodes().end(), [](torch::jit::Node* node) {
        const auto blocks = node->blocks();
        const c10::Symbol kind = node->kind();
        return (!kind.is_aten() && !kind.is_prim()) ||
               kind == c10::prim::fork || kind == c10::prim::CallMethod ||
               kind == c10::prim::CallFunction ||
               std::any_of(
                   blocks.begin(), blocks.end(),
                   [](torch::jit::Block* inner) { return MayFork(inner); });
      });
}

bool MayFork(const torch::jit::Module& module) {
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return MayFork(graph->block());
}

class ScriptNetwork : public Network {
 public:
  ScriptNetwork(PreparedModule prepared, Precision precision,
                ScriptOutputs outputs)
      : module_(std::move(prepared.module)),
        channels_last_(std::move(prepared.channels_last)),
        precision_(precision),
        outputs_(std::move(outputs)),
        may_fork_(MayFork(module_)) {}

  absl::Status Forward(const Values& inputs, Values& outputs) final {
    try {
      if (channels_last_.empty()) {
        return outputs_.Pick(module_.forward(Arguments(inputs)), outputs);
      }
      const absl::Status status =
          outputs_.Pick(module_.forward(Arguments(LaidOut(inputs))), outputs);
      for (c10::IValue& output : outputs) {
        if (output.isTensor()) {  // in the order of its shape
          output = output.toTensor().contiguous();
        }
      }
      return status;
    } catch (const std::exception& error) {
      if (absl::StrContains(error.what(), kOfCuda)) {
        return absl::InternalError(
            "its code has constants or devices of CUDA, and this process "
            "serves on the processor: export the model from there "
            "(model.cpu(), and the example, too), or serve it on a GPU "
            "(--device)");
      }
      if (!absl::StrContains(error.what(), kNoKernel)) {
        throw;
      }
      return absl::InternalError(absl::StrCat(
          "forward() gives a linear layer another type than ",
          precision_ == Precision::kNative
              ? "its weights"
              : c10::toString(ToScalarType(precision_)),
          " (it may cast by itself), or another size than its weights have"));
    }
  }

  bool takes_channels_last(size_t input) const final {
    return !channels_last_.empty() && channels_last_[input];
  }

  int warm_up_runs() const final { return kWarmUpRuns; }

  bool has_own_threads() const final { return may_fork_; }

 private:
  virtual std::vector<c10::IValue> Arguments(const Values& inputs) const = 0;

  Values LaidOut(const Values& inputs) const {
    Values laid_out = inputs;
    for (size_t i = 0; i < laid_out.size(); ++i) {
      if (channels_last_[i] && laid_out[i].isTensor()) {
        laid_out[i] =
            laid_out[i].toTensor().contiguous(at::MemoryFormat::ChannelsLast);
      }
    }
    return laid_out;
  }

  torch::jit::Module module_;
  const std::vector<bool> channels_last_;
  const Precision precision_;
  const ScriptOutputs outputs_;
  const bool may_fork_;
};

class TorchScriptNetwork final : public ScriptNetwork {
 public:
  TorchScriptNetwork(PreparedModule prepared, Precision precision,
                     std::vector<size_t> inputs,
                     const std::vector<Argument>& arguments,
                     ScriptOutputs outputs)
      : ScriptNetwork(std::move(prepared), precision, std::move(outputs)),
        input_places_(std::move(inputs)) {
    for (const Argument& argument : arguments) {
      absent_.push_back(argument.absent);
    }
  }

 private:
  std::vector<c10::IValue> Arguments(const Values& inputs) const override {
    std::vector<c10::IValue> arguments = absent_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].isNone()) {
        arguments[input_places_[i]] = inputs[i];
      }
    }
    return arguments;
  }

  std::vector<c10::IValue> absent_;  // [argument]
  const std::vector<size_t> input_places_;
};

// Runs a forward() that takes its inputs in a dict, by their config's names.
class DictScriptNetwork final : public ScriptNetwork {
 public:
  DictScriptNetwork(PreparedModule prepared, Precision precision,
                    const std::vector<TensorSpec>& inputs,
                    ScriptOutputs outputs)
      : ScriptNetwork(std::move(prepared), precision, std::move(outputs)) {
    for (const TensorSpec& input : inputs) {
      names_.push_back(input.name);
    }
  }

 private:
  std::vector<c10::IValue> Arguments(const Values& inputs) const override {
    c10::Dict<std::string, at::Tensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      tensors.insert(names_[i], inputs[i].toTensor());
    }
    return {std::move(tensors)};
  }

  std::vector<std::string> names_;  // [spec input]
};

absl::StatusOr<std::unique_ptr<Network>> MakeDictNetwork(
    torch::jit::Module module, ModelOptions& options,
    const ScriptTarget& target, LoadReport& report) {
  for (const TensorSpec& input : options.spec.inputs) {
    if (absl::Status status = CheckDictInput(input); !status.ok()) {
      return status;
    }
  }
  const std::vector<std::string> fields = OutputFields(module);
  const auto make = [&](PreparedModule prepared) {
    return std::make_unique<DictScriptNetwork>(
        std::move(prepared), options.precision, options.spec.inputs,
        ScriptOutputs(options.spec.outputs, fields));
  };
  return ScriptFit(options, target, make, report).Run(std::move(module));
}

// Returns the line, or of a long one the sentences that fit.
absl::string_view Short(absl::string_view line) {
  const size_t end = line.size() <= kMaxToldBytes
                         ? line.npos
                         : line.rfind(". ", kMaxToldBytes);
  return line.substr(0, std::min(end, kMaxToldBytes));
}

// What LibTorch could not load, in Ferry's words; then LibTorch's last line.
absl::Status CannotLoad(const std::string& path, absl::string_view why) {
  why = absl::StripAsciiWhitespace(why);
  const absl::string_view line = why.substr(why.rfind('\n') + 1);
  const std::string told = absl::StrCat(" (LibTorch: ", Short(line), ")");
  if (absl::StrContains(why, "open file failed")) {
    return absl::NotFoundError(
        absl::StrCat("cannot read model file '", path, "'", told));
  }
  if (absl::StrContains(why, "allocate memory") ||
      absl::StrContains(why, "bad_alloc")) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot load '", path, "': no memory for it", told));
  }
  if (absl::StrContains(why, "required keyword attribute") ||
      absl::StrContains(why, "mkldnn") || absl::StrContains(why, "prepacked")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot load '", path,
        "': it holds what torch.jit.optimize_for_inference() makes for the "
        "process that calls it: save the module before that call; it is "
        "frozen and fused at load",
        told));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot load '", path,
      "': expected a TorchScript file, as torch.jit.trace(model, "
      "example).save('model.pt') writes it, not weights or Python objects, as "
      "torch.save() does",
      told));
}

// Whether it is a TorchScript file, of operators that are not here.
bool LacksOperator(absl::string_view why) {
  return absl::StrContains(why, "builtin op") &&
         !absl::StrContains(why, "mkldnn") &&
         !absl::StrContains(why, "prepacked");
}

absl::StatusOr<torch::jit::Module> LoadModule(const std::string& path) {
  std::string why;
  try {
    return torch::jit::load(path, at::kCPU);
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
    if (LacksOperator(why)) {
      throw;
    }
  } catch (const std::exception& error) {  // as the compiler throws
    why = error.what();
    if (LacksOperator(why)) {
      throw;
    }
  }
  return CannotLoad(path, why);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> LoadTorchScript(
    const std::string& path, ModelOptions& options, const ScriptTarget& target,
    LoadReport& report) {
  if (access(path.c_str(), R_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot read model file '", path, "'"));
  }
  torch::jit::FusionStrategy strategy = {
      {torch::jit::FusionBehavior::DYNAMIC, 1}};
  torch::jit::setFusionStrategy(strategy);
  // It compiles in a batch, and a graph records none of that.
  torch::jit::overrideCanFuseOnGPU(false);
  absl::StatusOr<torch::jit::Module> module = LoadModule(path);
  if (!module.ok()) {
    return module.status();
  }
  if (absl::Status status = CompleteSpec(path, *module, options);
      !status.ok()) {
    return status;
  }
  if (module->find_method("forward").has_value() && TakesDict(*module)) {
    return MakeDictNetwork(*std::move(module), options, target, report);
  }
  absl::StatusOr<std::vector<Argument>> arguments =
      ArgumentsOf(*module, options.spec.inputs.size());
  if (!arguments.ok()) {
    return arguments.status();
  }
  absl::StatusOr<std::vector<size_t>> places =
      PlaceInputs(options.spec.inputs, *arguments);
  if (!places.ok()) {
    return places.status();
  }
  for (size_t i = 0; i < places->size(); ++i) {
    if (absl::Status status =
            CheckArgument(options.spec.inputs[i], (*arguments)[(*places)[i]]);
        !status.ok()) {
      return status;
    }
  }
  const std::vector<std::string> fields = OutputFields(*module);
  const auto make = [&](PreparedModule prepared) {
    return std::make_unique<TorchScriptNetwork>(
        std::move(prepared), options.precision, *places, *arguments,
        ScriptOutputs(options.spec.outputs, fields));
  };
  return ScriptFit(options, target, make, report).Run(*std::move(module));
}

}  // namespace ferry
