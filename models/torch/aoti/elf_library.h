// Looks at and changes the bytes of a shared library (ELF) before it is opened.
//
// Unique symbols: GCC marks static variables of inline functions and templates
// as unique in the process: the dynamic loader gives all libraries the first
// one's, and never unloads that library. Code that torch compiles has some (of
// std::regex, and of its kernels for norms and matrices), so a model that is
// gone would leave its code and its weights mapped, and others would use its
// variables.
//
// Thread safety: free functions. They leave alone what is no 64-bit ELF file of
// this machine's byte order: the dynamic loader says what it thinks of it.
#ifndef FERRY_MODELS_TORCH_AOTI_ELF_LIBRARY_H_
#define FERRY_MODELS_TORCH_AOTI_ELF_LIBRARY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace ferry {

// INVALID_ARGUMENT for a library whose bytes end before what its headers list:
// the dynamic loader would map what is not there, and the first touch of it
// would end the process (SIGBUS).
absl::Status CheckIsWhole(absl::Span<const std::byte> library);

// Makes unique symbols weak ones: they are then unique in the library.
void WeakenUniqueSymbols(absl::Span<std::byte> library);

// Whether it takes from elsewhere what runs OpenMP's parallel regions.
bool HasParallelRegions(absl::Span<const std::byte> library);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_ELF_LIBRARY_H_
