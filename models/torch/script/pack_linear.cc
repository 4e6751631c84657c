// Implements PackLinearLayers as a pass over the graph of forward().
#include "models/torch/script/pack_linear.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <algorithm>
#include <vector>

#include "models/torch/networks/onednn_ops.h"

namespace ferry {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

const c10::Symbol& PackedLinearKind() {
  static const c10::Symbol kind =
      c10::Symbol::fromQualString("mkldnn::_linear_pointwise");
  return kind;
}

// Returns the constant tensor that `value` is, or an undefined one.
at::Tensor ConstantTensor(Value* value) {
  const std::optional<c10::IValue> constant = torch::jit::toIValue(value);
  return constant.has_value() && constant->isTensor() ? constant->toTensor()
                                                      : at::Tensor();
}

bool CanPack(Node* node) {
  static const c10::Symbol linear = c10::Symbol::fromQualString("aten::linear");
  if (node->kind() != linear) {
    return false;
  }
  const at::Tensor weight = ConstantTensor(node->input(1));
  const bool has_constant_bias =
      torch::jit::toIValue(node->input(2)).has_value();
  return weight.defined() && weight.dim() == 2 &&
         (weight.scalar_type() == at::kBFloat16 ||
          weight.scalar_type() == at::kFloat) &&
         has_constant_bias;
}

void CollectLinear(Block* block, std::vector<Node*>& found) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) {
      CollectLinear(inner, found);
    }
    if (CanPack(node)) {
      found.push_back(node);
    }
  }
}

// Returns the relu that is all that reads the linear layer's output, or null.
Node* FollowingRelu(Node* linear) {
  static const c10::Symbol relu = c10::Symbol::fromQualString("aten::relu");
  static const c10::Symbol relu_in_place =
      c10::Symbol::fromQualString("aten::relu_");
  const auto& uses = linear->output()->uses();
  if (uses.size() != 1 ||
      uses[0].user->owningBlock() != linear->owningBlock() ||
      (uses[0].user->kind() != relu && uses[0].user->kind() != relu_in_place)) {
    return nullptr;
  }
  return uses[0].user;
}

void Pack(Graph& graph, Node* linear, int64_t rows) {
  Node* const relu = FollowingRelu(linear);
  const torch::jit::WithInsertPoint place(linear);
  const at::Tensor weight = ConstantTensor(linear->input(1)).contiguous();
  // An opaque tensor needs a constant of its own kind.
  Node* const packed = graph.create(c10::prim::ConstantMKLDNNTensor);
  packed->t_(c10::attr::value, onednn::PackLinear(weight, rows));
  packed->output()->inferTypeFrom(packed->t(c10::attr::value));
  graph.insertNode(packed);
  Value* const attribute =
      graph.insertConstant(std::string(relu != nullptr ? "relu" : "none"));
  Value* const scalars =
      graph.insertConstant(c10::IValue(c10::List<std::optional<at::Scalar>>()));
  Value* const algorithm = graph.insertConstant(std::string("none"));
  Node* const replacement = graph.create(
      PackedLinearKind(), {linear->input(0), packed->output(), linear->input(2),
                           attribute, scalars, algorithm});
  graph.insertNode(replacement);
  Node* const replaced = relu != nullptr ? relu : linear;
  replacement->output()->copyMetadata(replaced->output());
  replaced->output()->replaceAllUsesWith(replacement->output());
  if (relu != nullptr) {
    relu->destroy();
  }
  linear->destroy();
}

}  // namespace

void PackLinearLayers(torch::jit::Module& module, const ModelOptions& options) {
  if (!onednn::HasMatrixKernels()) {
    return;
  }
  const std::shared_ptr<Graph> graph = module.get_method("forward").graph();
  std::vector<Node*> layers;
  CollectLinear(graph->block(), layers);
  for (Node* layer : layers) {
    Pack(*graph, layer, std::max(options.spec.max_batch_size, 1));
  }
  torch::jit::EliminateDeadCode(graph);
}

}  // namespace ferry
