// WeakenUniqueSymbols makes a shared library one that can be unloaded.
//
// GCC marks static variables of inline functions and templates as unique in the
// process: the dynamic loader gives all libraries the first one's, and never
// unloads that library. Code that torch compiles has some (of std::regex, and
// of its kernels for norms and matrices), so a model that is gone would leave
// its code and its weights mapped, and others would use its variables.
//
// Thread safety: free function.
#ifndef FERRY_MODELS_TORCH_AOTI_UNIQUE_SYMBOLS_H_
#define FERRY_MODELS_TORCH_AOTI_UNIQUE_SYMBOLS_H_

#include <cstddef>

#include "absl/types/span.h"

namespace ferry {

// Makes unique symbols weak ones in `library`, the bytes of an ELF file: they
// are then unique in the library. Leaves alone what is no 64-bit ELF file of
// this machine's byte order, or is cut short.
void WeakenUniqueSymbols(absl::Span<std::byte> library);

}  // namespace ferry

#endif  // FERRY_MODELS_TORCH_AOTI_UNIQUE_SYMBOLS_H_
