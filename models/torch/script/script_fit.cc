// Implements ScriptFit: casts step by step, and compares after each.
#include "models/torch/script/script_fit.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/failure_log.h"
#include "models/torch/precision_check.h"
#include "models/torch/script/cast_module.h"
#include "models/torch/script/channels_last.h"
#include "models/torch/script/layout_probe.h"
#include "models/torch/script/pack_linear.h"
#include "models/torch/types.h"

namespace ferry {
namespace {

// How far a script may be from itself, run again in fp32.
constexpr double kRepeatTolerance = 0.001;

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;

void Collect(Block* block, std::vector<Node*>& nodes) {
  for (Node* node : block->nodes()) {
    nodes.push_back(node);
    for (Block* inner : node->blocks()) {
      Collect(inner, nodes);
    }
  }
}

bool HasLinear(const torch::jit::Module& frozen) {
  std::vector<Node*> nodes;
  Collect(frozen.get_method("forward").graph()->block(), nodes);
  return std::any_of(nodes.begin(), nodes.end(), [](Node* node) {
    return node->kind() == c10::aten::linear;
  });
}

// Whether forward() may write to the module's own tensors, or sets attributes.
bool MayWriteToItself(const torch::jit::Module& module) {
  const std::shared_ptr<Graph> graph =
      module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  std::vector<Node*> nodes;
  Collect(graph->block(), nodes);
  const torch::jit::AliasDb memory(graph);
  return std::any_of(nodes.begin(), nodes.end(), [&](Node* node) {
    return node->kind() == c10::prim::SetAttr ||
           node->kind() == c10::prim::CallMethod ||
           node->kind() == c10::prim::CallFunction ||
           (node->kind() == c10::prim::GetAttr &&
            node->output()->type()->kind() != c10::TypeKind::ClassType &&
            memory.hasWriters(node->output()));
  });
}

}  // namespace

ScriptFit::ScriptFit(ModelOptions& options, const ScriptTarget& target,
                     MakeNetwork make, LoadReport& report)
    : options_(options),
      target_(target),
      make_(make),
      report_(report),
      probe_(options, at::kCPU) {}

absl::StatusOr<std::unique_ptr<Network>> ScriptFit::Run(
    torch::jit::Module module) {
  module.eval();
  writes_to_itself_ = MayWriteToItself(module);
  RunPlain(module);
  if (options_.precision == Precision::kBf16) {
    CastParameters(module, at::kBFloat16);
    module.to(target_.device);
    if (report_.why_not_compared.empty()) {
      absl::StatusOr<std::unique_ptr<Network>> network = MakeCompared(module);
      if (absl::IsInternal(network.status()) &&
          CastBuffers(module, at::kBFloat16)) {
        network = MakeCompared(module);
      }
      return network;
    }
    CastBuffers(module, at::kBFloat16);
  }
  std::string why_not;
  module.to(target_.device);
  torch::jit::Module frozen = torch::jit::freeze(module);
  if (target_.device.is_cpu() && !probe_.has_run() && HasLinear(frozen)) {
    LogModelFallback(options_.name, "linear layers that are not packed",
                     "it took no row of the load: give it a model_warmup");
  }
  // So that packing takes the memory of one layer at a time.
  module = torch::jit::Module();
  std::unique_ptr<Network> network = MakeLaidOut(frozen, why_not);
  if (!why_not.empty()) {
    LogModelFallback(options_.name, "channels first", why_not);
  }
  return network;
}

void ScriptFit::RunPlain(torch::jit::Module& module) {
  const bool is_bf16 = options_.precision == Precision::kBf16;
  const Precision plain = is_bf16 ? Precision::kFp32 : options_.precision;
  if (plain != Precision::kNative) {
    CastParameters(module, at::kFloat);
  }
  std::unique_ptr<Network> network = Fresh(module);
  probe_.Find(*network, plain);
  if (!probe_.has_run() && plain != Precision::kNative &&
      CastBuffers(module, at::kFloat)) {
    network = Fresh(module);
    probe_.Find(*network, plain);
  }
  CheckRows(probe_, *Fresh(module), plain, options_, report_);
  if (is_bf16 && !probe_.has_run()) {
    report_.why_not_compared =
        absl::StrCat("it does not run there: ", probe_.failure());
  } else if (is_bf16) {
    probe_.RunMore(*network, plain);
    const auto again =
        probe_.Compare(*Fresh(module), plain, at::kCPU, /*independent=*/false);
    if (!again.ok() || again->share > kRepeatTolerance) {
      report_.why_not_compared =
          "it gives other answers each time, as what draws numbers does";
    }
  }
}

// What keeps state starts from that of the file.
std::unique_ptr<Network> ScriptFit::Fresh(
    const torch::jit::Module& module) const {
  return make_({.module = writes_to_itself_ ? module.deepcopy() : module});
}

absl::StatusOr<std::unique_ptr<Network>> ScriptFit::MakeCompared(
    const torch::jit::Module& module) {
  std::string failure;
  try {
    const torch::jit::Module frozen = torch::jit::freeze(module);
    std::string why_not;
    std::unique_ptr<Network> network = MakeLaidOut(frozen, why_not);
    const std::unique_ptr<Network> copy =
        writes_to_itself_ ? Fresh(frozen) : nullptr;
    if (absl::Status status =
            CheckPrecision(probe_, copy == nullptr ? *network : *copy,
                           target_.device, options_, report_);
        !status.ok()) {
      return status;
    }
    if (!why_not.empty()) {
      LogModelFallback(options_.name, "channels first", why_not);
    }
    return network;
  } catch (const c10::Error& error) {
    if (IsOutOfMemory(error)) {
      throw;
    }
    failure = error.what_without_backtrace();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (report_.why_not_bf16.empty()) {
    report_.why_not_bf16 = absl::StrCat("it cannot be prepared, ", failure);
  }
  return absl::InternalError(report_.why_not_bf16);
}

PreparedModule ScriptFit::Packed(torch::jit::Module module) {
  // LibTorch's own operators say more of what has never run.
  if (target_.device.is_cpu() && probe_.has_run()) {
    PackLinearLayers(module, options_);
  }
  return {.module = std::move(module)};
}

std::unique_ptr<Network> ScriptFit::MakeLaidOut(
    const torch::jit::Module& frozen, std::string& why_not) {
  if (target_.layout == ScriptLayout::kChannelsFirst ||
      !options_.use_channels_last || !ConvolvesIn16Bits(frozen)) {
    return make_(Packed(frozen));
  }
  const std::vector<bool> images = ImageInputs(options_);
  why_not = WhyNotChannelsLast(frozen, options_.spec);
  if (std::find(images.begin(), images.end(), true) == images.end()) {
    why_not = "none of its inputs is of images of floats";
  }
  std::unique_ptr<Network> laid_out;
  if (why_not.empty()) {
    try {  // the weights are there twice for a while
      PreparedModule prepared = Packed(WithChannelsLast(frozen));
      prepared.channels_last = images;
      laid_out = make_(std::move(prepared));
    } catch (const c10::Error& error) {  // as where memory is out
      why_not = error.what_without_backtrace();
    }
  }
  std::unique_ptr<Network> plain = make_(Packed(frozen));
  if (laid_out != nullptr) {
    why_not = CompareLayouts(*plain, *laid_out, options_, target_.device);
  }
  return why_not.empty() ? std::move(laid_out) : std::move(plain);
}

}  // namespace ferry
