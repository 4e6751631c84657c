// Parameter by parameter, buffer by buffer.
#include "models/torch/script/cast_module.h"

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

namespace ferry {
namespace {

void Cast(at::Tensor tensor, at::ScalarType type) {
  if (tensor.is_floating_point() && tensor.scalar_type() != type) {
    tensor.set_data(tensor.to(type));
  }
}

}  // namespace

void CastFloats(torch::jit::Module& module, at::ScalarType type) {
  const c10::InferenceMode data_can_be_set(false);
  for (const at::Tensor& parameter : module.parameters()) {
    Cast(parameter, type);
  }
  for (const at::Tensor& buffer : module.buffers()) {
    Cast(buffer, type);
  }
}

}  // namespace ferry
