// Reading the graph, exchanging constants, trial forwards.
#include "models/torch/script/channels_last.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "batcher/checked_math.h"
#include "models/made_up_row.h"
#include "models/torch/guarded.h"
#include "models/torch/shapes.h"
#include "models/torch/staged_input.h"

namespace ferry {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr int64_t kImageDims = 4;  // rows, channels, height, width

// Sizes of a dimension that varies, for a trial: those that most networks of
// images take, the cheap ones first.
constexpr int64_t kTrialSizes[] = {64, 224, 32};

// Of a row's inputs of sizes that vary.
constexpr int64_t kMaxTrialElements = int64_t{1} << 22;

// Of both layouts' outputs in 16 bits, |difference| / |output|, lengths of
// vectors: kernels round and sum up in other orders, bf16 has 8 bits of digits.
constexpr double kTolerance = 0.05;

// --- the graph ---------------------------------------------------------------

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
        depth > 0 ? " in a branch or a loop, which a trial may not come by"
                  : " and takes inputs of any size, of which a trial is one",
        "; flatten() and reshape() suit every layout");
  }
  return "";
}

// --- trials ------------------------------------------------------------------

// From 0 to 0.98, so that even as indexes of something they are inside: on a
// device an index out of range is its end.
at::Tensor MadeUp(const std::vector<int64_t>& shape, at::ScalarType type,
                  at::Device device) {
  if (!at::isFloatingType(type)) {
    return at::zeros(shape, at::TensorOptions(device).dtype(type));
  }
  const at::Tensor empty = at::empty(shape, at::kFloat);
  return at::arange(empty.numel(), at::kFloat)
      .sin()
      .mul(0.49)
      .add(0.49)
      .view(shape)
      .to(type)
      .to(device);
}

bool IsSmall(const ModelSpec& spec, int64_t any_size) {
  int64_t left = kMaxTrialElements;
  for (const TensorSpec& input : spec.inputs) {
    std::vector<int64_t> dims = input.dims;
    std::replace(dims.begin(), dims.end(), kAnySize, any_size);
    const int64_t elements = ElementCount(dims).value_or(left + 1);
    if (elements > left) {
      return false;
    }
    left -= elements;
  }
  return true;
}

Values TrialInputs(const Network& network, const ModelOptions& options,
                   const std::vector<RowInput>& row, int32_t rows,
                   at::Device device) {
  Values inputs;
  for (size_t i = 0; i < row.size(); ++i) {
    inputs.emplace_back();
    if (row[i].is_given) {
      inputs.back() =
          MadeUp(Shape(options.spec.max_batch_size > 0, rows,
                       ModelRow(options, i, row[i].dims)),
                 StagedType(options, i, network.input_type(i)), device);
    }
  }
  return inputs;
}

// Returns how the outputs differ, or nothing. Of integers only the shape
// counts: the largest of two values that are almost alike may be either.
std::string Difference(const at::Tensor& expected, const at::Tensor& found) {
  if (found.sizes() != expected.sizes() ||
      found.scalar_type() != expected.scalar_type()) {
    return "gives an output of another shape or type";
  }
  if (!expected.is_floating_point() || expected.numel() == 0) {
    return "";
  }
  const at::Tensor wide = expected.to(at::kFloat);
  const at::Tensor other = found.to(at::kFloat);
  // Infinities that are the same are no difference.
  const at::Tensor difference =
      at::where(wide.eq(other), at::zeros_like(wide), wide - other);
  const double off = difference.norm().item<double>();
  const double length = at::nan_to_num(wide, 0, 0, 0).norm().item<double>();
  return off <= kTolerance * length  // false of NaN
             ? ""
             : absl::StrCat("gives other values, off by ", off, " of ", length);
}

// Runs both with the same rows. An error where the plain one does not run.
absl::StatusOr<std::string> CompareRows(
    Network& plain, Network& laid_out,
    absl::FunctionRef<Values()> make_inputs) {
  Values inputs;
  Values expected;
  if (absl::Status status = Guarded([&] {
        inputs = make_inputs();
        return plain.Forward(inputs, expected);
      });
      !status.ok()) {
    return status;
  }
  Values found;
  std::string difference;
  const absl::Status status = Guarded([&] {
    const absl::Status ran = laid_out.Forward(inputs, found);
    for (size_t i = 0; ran.ok() && difference.empty() && i < expected.size();
         ++i) {
      if (i >= found.size() || expected[i].isTensor() != found[i].isTensor()) {
        difference = "gives other outputs";
      } else if (expected[i].isTensor()) {
        difference = Difference(expected[i].toTensor(), found[i].toTensor());
      }
    }
    return ran;
  });
  return status.ok() ? difference : absl::StrCat("fails, ", status.message());
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
  return why_not;
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

std::string CompareInTrial(Network& plain, Network& laid_out,
                           const ModelOptions& options, at::Device device) {
  at::set_num_threads(options.threads);  // of operators on the processor
  std::vector<int64_t> sizes = {1};
  absl::Status cannot_see;
  if (HasVariableShape(options.spec)) {
    cannot_see = absl::OutOfRangeError("its inputs are too large");
    sizes.clear();
    std::copy_if(std::begin(kTrialSizes), std::end(kTrialSizes),
                 std::back_inserter(sizes),
                 [&](int64_t size) { return IsSmall(options.spec, size); });
  }
  for (const int64_t size : sizes) {
    const std::vector<RowInput> row = ZeroRow(options.spec, size);
    absl::StatusOr<std::string> difference = "";
    // Of two rows strides are as of any number more, of one they are not.
    const int32_t most_rows = std::clamp(options.spec.max_batch_size, 1, 2);
    for (int32_t rows = 1; rows <= most_rows; ++rows) {
      if (difference.ok() && difference->empty()) {
        difference = CompareRows(plain, laid_out, [&] {
          return TrialInputs(plain, options, row, rows, device);
        });
      }
    }
    if (difference.ok()) {
      return difference->empty()
                 ? ""
                 : absl::StrCat("a trial forward with it ", *difference);
    }
    cannot_see = difference.status();
  }
  return absl::StrCat("a trial forward fails, with it or without: ",
                      cannot_see.message());
}

}  // namespace ferry
