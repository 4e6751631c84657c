// Implements WithChannelsLast: reads the graph, and exchanges constants.
#include "models/torch/script/channels_last.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "models/torch/shapes.h"
#include "models/torch/staged_input.h"

namespace ferry {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr int64_t kImageDims = 4;  // rows, channels, height, width

std::shared_ptr<Graph> GraphOf(const torch::jit::Module& module) {
  return module.get_method("forward").graph();
}

bool IsOneOf(absl::string_view name,
             std::initializer_list<absl::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Calls `visit` with each node and how many branches and loops it is in.
void Visit(Block* block, int depth, absl::FunctionRef<void(Node*, int)> visit) {
  for (Node* node : block->nodes()) {
    visit(node, depth);
    for (Block* inner : node->blocks()) {
      Visit(inner, depth + 1, visit);
    }
  }
}

// Returns the constant weight of a convolution of images in 16-bit floats, or
// an undefined tensor.
at::Tensor ConvolutionWeight(Node* node) {
  if (!node->kind().is_aten() ||
      !IsOneOf(node->kind().toUnqualString(),
               {"conv2d", "_convolution", "convolution", "conv_transpose2d"})) {
    return {};
  }
  const auto weight = torch::jit::toIValue(node->input(1));
  if (!weight.has_value() || !weight->isTensor()) {
    return {};
  }
  const at::Tensor& tensor = weight->toTensor();
  return tensor.defined() && tensor.dim() == kImageDims &&
                 at::isReducedFloatingType(tensor.scalar_type())
             ? tensor
             : at::Tensor();
}

bool AsksForStrides(absl::string_view name) {
  return IsOneOf(name, {"as_strided", "as_strided_", "as_strided_scatter",
                        "as_strided_copy", "stride", "is_contiguous",
                        "is_non_overlapping_and_dense", "storage_offset",
                        "data_ptr", "set_", "resize_", "resize_as_"});
}

// Throws where a tensor's strides do not suit.
bool NeedsStrides(absl::string_view name) {
  return IsOneOf(name, {"view", "view_as", "_unsafe_view", "_reshape_alias",
                        "view_as_complex", "view_as_real"});
}

// What it gives is its input's memory or a copy, by the input's strides.
bool MayShareMemory(const Node* node) {
  return node->kind().is_aten() &&
         IsOneOf(node->kind().toUnqualString(),
                 {"reshape", "reshape_as", "flatten", "ravel", "contiguous"});
}

// Returns the values that it writes to.
std::vector<Value*> WrittenBy(Node* node) {
  std::vector<Value*> written;
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (schema == nullptr) {
    return written;
  }
  for (size_t i = 0; i < schema->arguments().size(); ++i) {
    const c10::AliasInfo* const alias = schema->arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite() && i < node->inputs().size()) {
      written.push_back(node->input(i));
    }
  }
  return written;
}

// Whether it runs code that is not in the graph.
bool RunsOtherCode(const Node* node) {
  return node->kind() == c10::prim::CallMethod ||
         node->kind() == c10::prim::CallFunction ||
         node->kind() == c10::prim::fork || node->kind() == c10::prim::Closure;
}

// What freezing leaves of a module's own tensors is what forward() writes to.
bool KeepsState(const Node* node) {
  return node->kind() == c10::prim::SetAttr ||
         (node->kind() == c10::prim::GetAttr &&
          node->output()->type()->kind() != c10::TypeKind::ClassType);
}

std::string WhyNot(const Node* node, int depth, bool has_sizes_that_vary) {
  const std::string name = node->kind().toQualString();
  if (RunsOtherCode(node) ||
      !(node->kind().is_aten() || node->kind().is_prim())) {
    return absl::StrCat("it calls ", name, ", which may ask for strides");
  }
  if (KeepsState(node)) {
    return "it writes to its own tensors";
  }
  if (!node->kind().is_aten()) {
    return "";
  }
  const absl::string_view operation = node->kind().toUnqualString();
  if (AsksForStrides(operation)) {
    return absl::StrCat("it calls ", name, ", which asks for strides");
  }
  if (NeedsStrides(operation) && (depth > 0 || has_sizes_that_vary)) {
    return absl::StrCat(
        "it calls ", name,
        depth > 0 ? " in a branch or a loop, which a probe may not reach"
                  : " and takes inputs of any size, of which a probe has one",
        "; flatten() and reshape() suit every layout");
  }
  return "";
}

// Returns why a write may be seen elsewhere in one layout and not in the other,
// or nothing: it is to what MayShareMemory(), after that, or in a block where
// the order is not that of the graph.
std::string WhyNotWrites(const std::shared_ptr<Graph>& graph) {
  std::vector<Node*> sharing;
  std::vector<Node*> writing;
  Visit(graph->block(), 0, [&](Node* node, int) {
    if (MayShareMemory(node)) {
      sharing.push_back(node);
    }
    if (!WrittenBy(node).empty()) {
      writing.push_back(node);
    }
  });
  if (sharing.empty() || writing.empty()) {
    return "";
  }
  const torch::jit::AliasDb memory(graph);
  for (Node* writer : writing) {
    for (Node* shared : sharing) {
      const bool is_before = writer->owningBlock() == graph->block() &&
                             shared->owningBlock() == graph->block() &&
                             writer->isBefore(shared);
      for (Value* value :
           is_before ? std::vector<Value*>{} : WrittenBy(writer)) {
        if (memory.mayAlias(value, shared->output()) ||
            memory.mayAlias(value, shared->input(0))) {
          return absl::StrCat("it calls ", writer->kind().toQualString(),
                              " on what ", shared->kind().toQualString(),
                              " copies or not, by the strides");
        }
      }
    }
  }
  return "";
}

}  // namespace

bool ConvolvesIn16Bits(const torch::jit::Module& module) {
  bool is_found = false;
  Visit(GraphOf(module)->block(), 0, [&](Node* node, int) {
    is_found = is_found || ConvolutionWeight(node).defined();
  });
  return is_found;
}

std::vector<bool> ImageInputs(const ModelOptions& options) {
  std::vector<bool> are_images;
  for (size_t i = 0; i < options.spec.inputs.size(); ++i) {
    const TensorSpec& input = options.spec.inputs[i];
    const size_t dims = ModelRow(options, i, input.dims).size() +
                        (options.spec.max_batch_size > 0 ? 1 : 0);
    are_images.push_back(
        input.type != DataType::kBytes && dims == kImageDims &&
        at::isFloatingType(StagedType(options, i, std::nullopt)));
  }
  return are_images;
}

std::string WhyNotChannelsLast(const torch::jit::Module& module,
                               const ModelSpec& spec) {
  const bool has_sizes_that_vary = HasVariableShape(spec);
  std::string why_not;
  Visit(GraphOf(module)->block(), 0, [&](Node* node, int depth) {
    if (why_not.empty()) {
      why_not = WhyNot(node, depth, has_sizes_that_vary);
    }
  });
  for (const TensorSpec& input : spec.inputs) {
    if (input.type == DataType::kBytes && why_not.empty()) {
      why_not = "it takes strings, which a probe does not make";
    }
  }
  return why_not.empty() ? WhyNotWrites(GraphOf(module)) : why_not;
}

torch::jit::Module WithChannelsLast(const torch::jit::Module& module) {
  torch::jit::Module copy = module.clone();
  const std::shared_ptr<Graph> graph = GraphOf(copy);
  std::vector<Node*> convolutions;
  Visit(graph->block(), 0, [&](Node* node, int) {
    if (ConvolutionWeight(node).defined()) {
      convolutions.push_back(node);
    }
  });
  const torch::jit::WithInsertPoint begin(*graph->nodes().begin());
  std::map<Value*, Value*> laid_out;
  for (Node* node : convolutions) {
    Value*& weight = laid_out[node->input(1)];
    if (weight == nullptr) {
      weight = graph->insertConstant(
          ConvolutionWeight(node).contiguous(at::MemoryFormat::ChannelsLast));
    }
    node->replaceInput(1, weight);
  }
  torch::jit::EliminateDeadCode(graph);
  return copy;
}

}  // namespace ferry
