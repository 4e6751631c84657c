// CastFloats and others cast the floats among the tensors of a TorchScript
// module.
//
// Thread safety: free functions. Throw what LibTorch throws.
#ifndef FERRY_MODELS_TORCH_SCRIPT_CAST_MODULE_H_
#define FERRY_MODELS_TORCH_SCRIPT_CAST_MODULE_H_

#include <c10/core/ScalarType.h>
#include <torch/csrc/jit/api/module.h>

namespace ferry {

// Casts floating-point parameters or buffers, in place; returns whether any was
// of another type. Integers and bools (positions, tables of ids, masks)
// stay as they are, as nn.Module.to() of Python leaves them and Module::to() of
// C++ does not; so do tensors in lists, dicts and optionals. REQUIRES: the
// module was not loaded in inference mode.
bool CastParameters(torch::jit::Module& module, at::ScalarType type);
bool CastBuffers(torch::jit::Module& module, at::ScalarType type);

// Casts both.
bool CastFloats(torch::jit::Module& module, at::ScalarType type);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_SCRIPT_CAST_MODULE_H_
