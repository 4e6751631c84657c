// Implements the handles: finds the operators and calls them.
#include "models/torch/networks/onednn_ops.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUBlas.h>

namespace ferry::onednn {
namespace {

using Scalars = c10::List<std::optional<at::Scalar>>;
using Text = c10::string_view;
using OptionalText = std::optional<Text>;
using Sizes = c10::SymIntArrayRef;

template <typename Signature>
c10::TypedOperatorHandle<Signature> Find(const char* name,
                                         const char* overload) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, overload)
      .typed<Signature>();
}

Sizes Symbolic(at::IntArrayRef sizes) {
  return c10::fromIntArrayRefSlow(sizes);
}

}  // namespace

bool HasMatrixKernels() { return __builtin_cpu_supports("avx512bf16") > 0; }

int64_t FastRows(int64_t rows) {
  // Whether there is AMX, and the system gives leave to use it.
  static const bool has_tiles = at::native::cpublas::could_pack(at::kBFloat16);
  return has_tiles && rows > 16 && rows < 64 ? (rows + 3) / 4 * 4 : rows;
}

at::Tensor PackLinear(const at::Tensor& weight, int64_t rows) {
  using Signature = at::Tensor(const at::Tensor&, std::optional<c10::SymInt>);
  static const auto pack =
      Find<Signature>("mkldnn::_reorder_linear_weight", "");
  return pack.call(weight, c10::SymInt(rows));
}

at::Tensor Linear(const at::Tensor& x, const at::Tensor& packed,
                  const OptionalTensor& bias, const char* attribute) {
  using Signature =
      at::Tensor(const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                 Text, Scalars, OptionalText);
  static const auto linear = Find<Signature>("mkldnn::_linear_pointwise", "");
  return linear.call(x, packed, bias, attribute, Scalars(), Text("none"));
}

at::Tensor LinearAdd(const at::Tensor& x, const at::Tensor& other,
                     const at::Tensor& packed, const OptionalTensor& bias) {
  using Signature = at::Tensor(const at::Tensor&, const at::Tensor&,
                               const at::Tensor&, const OptionalTensor&, Text);
  static const auto linear =
      Find<Signature>("mkldnn::_linear_pointwise", "binary");
  return linear.call(x, other, packed, bias, "add");
}

at::Tensor PackConv(const at::Tensor& weight, const ConvArguments& arguments,
                    at::IntArrayRef input_size) {
  using Signature = at::Tensor(const at::Tensor&, Sizes, Sizes, Sizes,
                               c10::SymInt, c10::OptionalArrayRef<c10::SymInt>);
  static const auto pack =
      Find<Signature>("mkldnn::_reorder_convolution_weight", "");
  return pack.call(weight, Symbolic(arguments.padding),
                   Symbolic(arguments.stride), Symbolic(arguments.dilation),
                   c10::SymInt(arguments.groups), Symbolic(input_size));
}

at::Tensor Conv(const at::Tensor& x, const PackedWeights& weights,
                const ConvArguments& arguments, const char* attribute) {
  using Signature =
      at::Tensor(const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                 Sizes, Sizes, Sizes, c10::SymInt, Text, Scalars, OptionalText);
  static const auto conv =
      Find<Signature>("mkldnn::_convolution_pointwise", "");
  return conv.call(x, weights.packed, weights.bias, Symbolic(arguments.padding),
                   Symbolic(arguments.stride), Symbolic(arguments.dilation),
                   c10::SymInt(arguments.groups), attribute, Scalars(),
                   Text("none"));
}

at::Tensor ConvAddRelu(const at::Tensor& x, const at::Tensor& other,
                       const PackedWeights& weights,
                       const ConvArguments& arguments) {
  using Signature = at::Tensor(
      const at::Tensor&, const at::Tensor&, const at::Tensor&,
      const OptionalTensor&, Sizes, Sizes, Sizes, c10::SymInt, Text,
      std::optional<at::Scalar>, OptionalText, Scalars, OptionalText);
  static const auto conv =
      Find<Signature>("mkldnn::_convolution_pointwise", "binary");
  return conv.call(x, other, weights.packed, weights.bias,
                   Symbolic(arguments.padding), Symbolic(arguments.stride),
                   Symbolic(arguments.dilation), c10::SymInt(arguments.groups),
                   "add", std::nullopt, "relu", Scalars(), std::nullopt);
}

}  // namespace ferry::onednn
