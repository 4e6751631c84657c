// OpenLibtorchName makes "libtorch.so" a name that the dynamic loader knows.
//
// What torch compiles is linked with libtorch.so, which in a CUDA build of
// torch pulls in CUDA's libraries and has no code of its own. The loader takes
// a library that is already open under that name: Ferry's stand-in, which pulls
// in what code for the processor needs.
//
// Thread safety: thread-safe.
#ifndef FERRY_MODELS_TORCH_LIBTORCH_NAME_H_
#define FERRY_MODELS_TORCH_LIBTORCH_NAME_H_

#include "absl/status/status.h"

namespace ferry {

// Opens the stand-in unless libtorch.so is open. NOT_FOUND where it is not
// installed beside ferry_torch.
absl::Status OpenLibtorchName();

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_LIBTORCH_NAME_H_
