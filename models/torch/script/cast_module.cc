// Implements CastParameters and CastBuffers, tensor by tensor.
#include "models/torch/script/cast_module.h"

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

namespace ferry {
namespace {

bool Cast(at::Tensor tensor, at::ScalarType type) {
  if (!tensor.is_floating_point() || tensor.scalar_type() == type) {
    return false;
  }
  // On the processor: a device has no memory for both.
  tensor.set_data(tensor.cpu().to(type).to(tensor.device()));
  return true;
}

}  // namespace

bool CastParameters(torch::jit::Module& module, at::ScalarType type) {
  const c10::InferenceMode data_can_be_set(false);
  bool has_cast = false;
  for (const at::Tensor& parameter : module.parameters()) {
    has_cast |= Cast(parameter, type);
  }
  return has_cast;
}

bool CastBuffers(torch::jit::Module& module, at::ScalarType type) {
  const c10::InferenceMode data_can_be_set(false);
  bool has_cast = false;
  for (const at::Tensor& buffer : module.buffers()) {
    has_cast |= Cast(buffer, type);
  }
  return has_cast;
}

bool CastFloats(torch::jit::Module& module, at::ScalarType type) {
  const bool has_cast = CastParameters(module, type);
  return CastBuffers(module, type) || has_cast;
}

}  // namespace ferry
